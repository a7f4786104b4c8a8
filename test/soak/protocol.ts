import type { Memory } from "./memory.ts";
import type { AtRest } from "./readings.ts";

/** What a life is told to do. */
export interface LifePlan {
  /** Ours alone; everything that is made is below it. */
  folder: string;
  runs: number;
  /** Runs under way at once. */
  atOnce: number;
  /** `hold`: with a run under way, waits until its stdin is closed. `touch`: only starts and ends. */
  end: "close" | "hold" | "touch";
}

/** What a life says, one line each. */
export type LifeReport =
  | { report: "holding" }
  | { report: "touched"; wrong: string[] }
  | {
      report: "done";
      uid: number;
      runs: number;
      kinds: Record<string, number>;
      /** The first things that did not go as they should. */
      wrong: string[];
      /** After one turn, and after all runs. */
      rest: { before: AtRest; after: AtRest };
      /** Before anything was opened for the runs, and after everything was closed again. */
      closed: { before: AtRest; after: AtRest };
      /** After each tenth. */
      memory: Memory[];
    };
