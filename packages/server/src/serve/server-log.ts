import type { Writable } from "node:stream";
import { redactLog, redactText } from "@sallyport/engine";
import { type Logger, pino } from "pino";
import type { LoadedConfig } from "../config/load.ts";
import { logLine } from "./log-line.ts";
import { terminalGone } from "./terminal.ts";

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
