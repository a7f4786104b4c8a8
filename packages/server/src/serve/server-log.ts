import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { redactLog, redactText } from "@sallyport/engine/host";
import { isJsonObject, type JsonValue, parseJsonObject } from "@sallyport/protocol";
import { type Logger, pino } from "pino";
import { visible } from "../cli/io.ts";
import type { LoadedConfig } from "../config/load.ts";
import { terminalGone } from "./terminal.ts";

const COLOURS = { warn: "yellow", error: "red", fatal: "red" } as const;
const MAX_CHARS = 200;

/** A line of the log for a person at a terminal: time, level where it matters, message, and the fields. */
function logLine(line: string, stream: Writable): string {
  const record = parseJsonObject(line);
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

export interface LogOptions extends Pick<LoadedConfig, "log"> {
  stream: Writable & { isTTY?: boolean };
}

/**
 * The server's log. Every field and message goes through the redactor first, so that no line holds a secret, whoever
 * wrote it; what cannot be written is dropped rather than stop a call.
 */
export function createServerLog({ log, stream }: LogOptions): Logger {
  const isText = log.format === "text" || (log.format === "auto" && stream.isTTY === true);
  const isGone = stream.isTTY === true ? terminalGone() : () => false;
  const write = (line: string) => {
    // A terminal that was closed takes no more lines: the attempt alone would count as a failure of the whole command.
    if (!isGone()) stream.write(isText ? logLine(line, stream) : line);
  };
  return pino(
    {
      level: log.level,
      base: { logger: "sallyport" },
      messageKey: "message",
      nestedKey: "context",
      timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
      hooks: {
        logMethod(args, method) {
          const [first, ...rest] = args.map(redacted);
          method.apply(this, [first, ...rest] as Parameters<typeof method>);
        },
      },
    },
    { write },
  );
}

function redacted(value: unknown): unknown {
  return typeof value === "string" ? redactText(value) : redactLog(value);
}
