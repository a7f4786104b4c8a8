import { isJsonObject } from "@sallyport/protocol";
import type { UseOf } from "../../ports/runner.ts";
import { encodeJson } from "./json-text.ts";

/** What a tool says about a use; `bytes` is the size of the file it is about. */
export interface UseTold extends UseOf {
  bytes?: number;
}

/** The longest action or resource. */
const MAX_TEXT_CHARS = 4_096;
/** Room for both texts, however they are escaped. */
const MAX_USE_BYTES = 64 * 1_024;

const { parse } = JSON;

/** A use as JSON text, on its way from a tool to its host. Throws for what is not a use: the author's mistake. */
export function encodeUse(on: unknown): string {
  const told = checkUse(on);
  const encoded = encodeJson(told, MAX_USE_BYTES);
  if (!encoded.ok) throw new TypeError("what a capability is used for must be JSON");
  return encoded.text;
}

/** Reads such a text as if an enemy had written it. Throws for anything but a use; then nothing has been used. */
export function decodeUse(text: string): UseTold {
  if (text.length > MAX_USE_BYTES) throw new RangeError("what a capability is used for is too long");
  return checkUse(parse(text));
}

/** A copy with the known fields and no others. */
function checkUse(on: unknown): UseTold {
  if (!isJsonObject(on)) throw new TypeError("what a capability is used for must be an object");
  const { action, resource, bytes } = on;
  return {
    ...(action !== undefined && { action: checkText(action) }),
    ...(resource !== undefined && { resource: checkText(resource) }),
    ...(bytes !== undefined && { bytes: checkSize(bytes) }),
  };
}

function checkText(text: unknown): string {
  if (typeof text !== "string") throw new TypeError("an action or a resource must be a string");
  if (text.length <= MAX_TEXT_CHARS) return text;
  throw new RangeError(`an action or a resource has at most ${MAX_TEXT_CHARS} characters`);
}

function checkSize(bytes: unknown): number {
  if (typeof bytes === "number" && Number.isSafeInteger(bytes) && bytes >= 0) return bytes;
  throw new TypeError("bytes must be a whole number");
}
