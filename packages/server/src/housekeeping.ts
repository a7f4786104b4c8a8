import { setTimeout as sleep } from "node:timers/promises";

/** Something a house that stays open does again and again. */
export interface Chore {
  name: string;
  everyMs: number;
  run(): Promise<unknown>;
}

/** Chores under way; stopping waits for the one that is being done. */
export interface Housekeeping {
  stop(): Promise<void>;
}

/**
 * Does each chore by its own clock, never twice at a time. One that fails is told of once, until it has worked again, and
 * is tried at its next turn: a house does not close because a chore could not be done.
 */
export function keepHouse(
  chores: readonly Chore[],
  onProblem: (chore: string, error: unknown) => void,
): Housekeeping {
  const stopping = new AbortController();
  const rounds = chores.map((chore) => round(chore, stopping.signal, onProblem));
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(rounds);
    },
  };
}

async function round(
  { name, everyMs, run }: Chore,
  signal: AbortSignal,
  onProblem: (chore: string, error: unknown) => void,
): Promise<void> {
  let failing = false;
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await run();
      failing = false;
    } catch (error) {
      if (!failing) onProblem(name, error);
      failing = true;
    }
  }
}
