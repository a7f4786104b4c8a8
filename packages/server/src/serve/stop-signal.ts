import type { EventEmitter } from "node:events";
import { terminalGone } from "./terminal.ts";

/** What tells a server to stop, and to read its configuration again. */
export interface StopSignals {
  /** Resolves with the first one's name. */
  readonly first: Promise<string>;
  /** Resolves when somebody does not want to wait any longer. */
  readonly second: Promise<string>;
  /** From here on they do what they do to any process. */
  done(): void;
}

const STOPPING = ["SIGTERM", "SIGINT"] as const;

export interface SignalOptions {
  onReload(): void;
  /** Whether the process has a terminal, asked now and with each SIGHUP. */
  hasTerminal?: () => boolean;
}

/**
 * Listens for orders to end, and for SIGHUP, which calls `onReload`. A terminal that is closed sends SIGHUP too: a server
 * that was started at one, and has none any more, is told to stop by it.
 */
export function listenForSignals(
  signals: EventEmitter,
  { onReload, hasTerminal = () => false }: SignalOptions,
): StopSignals {
  const first = Promise.withResolvers<string>();
  const second = Promise.withResolvers<string>();
  let seen = 0;
  const stop = (name: string) => {
    seen += 1;
    (seen === 1 ? first : second).resolve(name);
  };
  const isGone = terminalGone(hasTerminal);
  const hangUp = () => {
    if (isGone()) stop("SIGHUP");
    else onReload();
  };
  for (const name of STOPPING) signals.on(name, stop);
  signals.on("SIGHUP", hangUp);
  return {
    first: first.promise,
    second: second.promise,
    done: () => {
      for (const name of STOPPING) signals.off(name, stop);
      signals.off("SIGHUP", hangUp);
    },
  };
}
