import { stripVTControlCharacters } from "node:util";
import type { RunFault } from "../../ports/runner.ts";
import { isToolCode } from "../../ports/tool-codes.ts";

export type Threw = Extract<RunFault, { kind: "threw" }>;

const MAX_MESSAGE_CHARS = 2_000;
const MAX_JSON_CHARS = 65_536;
const MAX_STACK_CHARS = 8_000;

const CONTROL_EXCEPT_NEWLINE_AND_TAB = /[^\P{Cc}\n\t]/gu;
const TEXT_DIRECTION_OVERRIDES = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * Turns whatever a tool threw into a fault. Never throws, however hostile the value: each read of it is
 * guarded, and what comes out is bounded and free of terminal controls.
 */
export function describeThrown(thrown: unknown): Threw {
  const fault: Threw = { kind: "threw", message: toolsMessage(messageOf(thrown)) };
  const stack = readString(thrown, "stack");
  if (stack !== undefined) fault.stack = cleanText(stack, MAX_STACK_CHARS);
  if (own(thrown, "invalidInput") === true) fault.invalidInput = true;
  const code = own(thrown, "toolCode");
  if (isToolCode(code)) fault.code = code;
  return fault;
}

/** A JSON object is the tool's own answer to whoever reads it, and stays as it is (FR-ERR-JSON-TOOL-01). */
export function toolsMessage(message: string): string {
  return isJsonObjectText(message) ? message : cleanText(message, MAX_MESSAGE_CHARS);
}

/** Whether a tool's message is a JSON object in text. */
export function isJsonObjectText(text: string): boolean {
  if (text.length > MAX_JSON_CHARS || !/^\s*\{/.test(text) || !text.isWellFormed()) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Cuts a text to `maxChars` and takes out what could confuse a terminal, a log or a JSON reader. */
export function cleanText(text: string, maxChars: number = MAX_MESSAGE_CHARS): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text;
  return stripVTControlCharacters(cut)
    .replace(CONTROL_EXCEPT_NEWLINE_AND_TAB, "")
    .replace(TEXT_DIRECTION_OVERRIDES, "")
    .toWellFormed();
}

function messageOf(thrown: unknown): string {
  if (typeof thrown === "string") return thrown === "" ? "threw an empty string" : thrown;
  if (typeof thrown === "function") return "threw a function";
  if (typeof thrown !== "object" || thrown === null) return `threw ${String(thrown)}`;
  const message = readString(thrown, "message");
  if (message) return message;
  return readString(thrown, "name") ?? "threw an object without a message";
}

function readString(thrown: unknown, property: "message" | "name" | "stack"): string | undefined {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  try {
    const value: unknown = Reflect.get(thrown, property);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

function own(thrown: unknown, property: "invalidInput" | "toolCode"): unknown {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  try {
    return Object.hasOwn(thrown, property) ? Reflect.get(thrown, property) : undefined;
  } catch {
    return undefined;
  }
}
