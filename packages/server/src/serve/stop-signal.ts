import type { EventEmitter } from "node:events";

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

/** Listens for orders to end, and for SIGHUP, which calls `onReload`. */
export function listenForSignals(signals: EventEmitter, onReload: () => void): StopSignals {
  const first = Promise.withResolvers<string>();
  const second = Promise.withResolvers<string>();
  let seen = 0;
  const stop = (name: string) => {
    seen += 1;
    (seen === 1 ? first : second).resolve(name);
  };
  for (const name of STOPPING) signals.on(name, stop);
  signals.on("SIGHUP", onReload);
  return {
    first: first.promise,
    second: second.promise,
    done: () => {
      for (const name of STOPPING) signals.off(name, stop);
      signals.off("SIGHUP", onReload);
    },
  };
}
