import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { isJsonObject, type JsonValue } from "@sallyport/protocol";
import { visible } from "../cli/io.ts";

const COLOURS = { warn: "yellow", error: "red", fatal: "red" } as const;
const MAX_CHARS = 200;

/** A line of the log for a person at a terminal: time, level where it matters, message, and the fields. */
export function logLine(line: string, stream: Writable): string {
  const record = read(line);
  if (!record) return line;
  const { timestamp, level, message, context } = record;
  const time = String(timestamp).slice(11, 19);
  const word = String(level);
  const mark = isColoured(word) ? `${styleText(COLOURS[word], word, { stream })} ` : "";
  return `${time} ${mark}${visible(String(message ?? ""))}${fieldsText(context)}\n`;
}

function isColoured(level: string): level is keyof typeof COLOURS {
  return Object.hasOwn(COLOURS, level);
}

function read(line: string) {
  try {
    const record: unknown = JSON.parse(line);
    return isJsonObject(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function fieldsText(context: JsonValue | undefined): string {
  if (!isJsonObject(context)) return "";
  const fields = Object.entries(context).map(([name, value]) => `${name}=${valueText(value)}`);
  return fields.length > 0 ? `  ${visible(fields.join(" "))}` : "";
}

/** Of an error a person wants the message; the rest is in the JSON. */
function valueText(value: JsonValue): string {
  const told = isJsonObject(value) && typeof value.message === "string" ? value.message : value;
  const text = typeof told === "string" && /^[\w./:@-]+$/.test(told) ? told : JSON.stringify(told);
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
