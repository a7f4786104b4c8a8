import { types } from "node:util";
import type { JsonValue } from "@sallyport/protocol";
import type { RunFault } from "../../ports/runner.ts";
import { cleanText, describeThrown } from "./describe-thrown.ts";

/** A value as JSON text, or why it cannot be. */
export type Encoded = { ok: true; text: string } | { ok: false; fault: RunFault };

// Taken before any tool runs, so that a tool that breaks its own globals cannot break this file.
const { stringify, parse } = JSON;
const byteLength = Buffer.byteLength;

/** Encodes what a tool returned. Nothing at all counts as `null`; never throws. */
export function encodeResult(value: unknown, maxBytes: number): Encoded {
  return value === undefined ? { ok: true, text: "null" } : encodeJson(value, maxBytes);
}

/**
 * Encodes a value that must survive JSON unchanged. What JSON would drop or bend without a word
 * (functions, symbols, NaN, promises, maps) is refused with the place where it stands. Never throws.
 */
export function encodeJson(value: unknown, maxBytes: number): Encoded {
  try {
    const text = stringify(value);
    const problem = findNotJson(value, "the value");
    if (problem !== undefined || text === undefined) return notJson(problem ?? "the value is not JSON");
    const bytes = byteLength(text);
    return bytes > maxBytes ? { ok: false, fault: { kind: "output_too_large", bytes } } : { ok: true, text };
  } catch (error) {
    return notJson(describeThrown(error).message);
  }
}

/** A copy that shares nothing with the original. The caller vouches that it is JSON. */
export function copyJson<T extends JsonValue | undefined>(value: T): T {
  return typeof value === "object" && value !== null ? parse(stringify(value)) : value;
}

function notJson(message: string): Encoded {
  return { ok: false, fault: { kind: "not_json", message: cleanText(message) } };
}

function findNotJson(value: unknown, path: string): string | undefined {
  if (typeof value === "object") return value === null ? undefined : findInObject(value, path);
  if (typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${path} is ${value}`;
  return `${path} is ${typeof value === "undefined" ? "undefined" : `a ${typeof value}`}`;
}

function findInObject(value: object, path: string): string | undefined {
  if (Array.isArray(value)) return findInArray(value, path);
  if ("toJSON" in value && typeof value.toJSON === "function") return undefined;
  if (types.isPromise(value)) return `${path} is a promise that was not awaited`;
  if (types.isMap(value) || types.isSet(value)) return `${path} is a Map or a Set`;
  for (const key of Object.keys(value)) {
    const member: unknown = Reflect.get(value, key);
    if (member === undefined) continue;
    const problem = findNotJson(member, key);
    if (problem !== undefined) return `${path}.${problem}`;
  }
  return undefined;
}

function findInArray(values: readonly unknown[], path: string): string | undefined {
  for (let index = 0; index < values.length; index++) {
    const problem = findNotJson(values[index], "");
    if (problem !== undefined) return `${path}[${index}]${problem}`;
  }
  return undefined;
}
