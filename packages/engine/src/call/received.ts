import { hash } from "node:crypto";
import { canonicalJson } from "@sallyport/protocol";
import { redact } from "../redact/redact.ts";
import { type JsonLimits, type ReadResult, readJson } from "../validate/index.ts";

/** What the caller sent: read as JSON once, fixed by digest before anything is decided about it. */
export interface Received {
  read: ReadResult;
  inputHash: string;
  /** The input as it may be kept. */
  text: string;
}

/** Stands for an input that could not be read at all. */
const NO_INPUT_HASH = hash("sha256", "");

export function receive(input: unknown, limits: JsonLimits): Received {
  const read = readJson(input, limits);
  if (!read.ok) return { read, inputHash: NO_INPUT_HASH, text: "null" };
  const canonical = canonicalJson(read.value);
  const kept = redact(read.value);
  const text = kept === read.value ? canonical : JSON.stringify(kept);
  return { read, inputHash: hash("sha256", canonical), text };
}
