import { LruMap } from "../lru-map.ts";
import type { Fence, UnitOfWork } from "../ports/store.ts";

/** Whoever is beyond it is judged by the record alone, as after a crash. */
const MOST_RUNS = 10_000;

/**
 * What this process knows of its runs and the record may not, because the store was away: which units may still land, and
 * which intents began nothing. It lives as long as the process; without it a call is judged as after a crash.
 */
export class UnrecordedRuns {
  /** How many units of a call were given up and are still under way in the store's client. */
  readonly #landing = new Map<string, number>();
  readonly #neverBegan = new LruMap<string, true>(MOST_RUNS);

  /** A unit has no answer; it may land until `over` resolves, and afterwards only by what the server has of it already. */
  givenUp({ fence, open, begin, close }: UnitOfWork, over: Promise<unknown>): void {
    const callId = (fence ?? open ?? begin ?? close)?.callId;
    if (callId === undefined) return;
    this.#count(callId, 1);
    void over.finally(() => this.#count(callId, -1));
  }

  #count(callId: string, by: 1 | -1): void {
    const left = (this.#landing.get(callId) ?? 0) + by;
    if (left > 0) this.#landing.set(callId, left);
    else this.#landing.delete(callId);
  }

  /** Calls whose record may still change by a unit that this process has sent. */
  landing(): Iterable<string> {
    return this.#landing.keys();
  }

  /** The intent of the run has no answer, and its tool was not reached: should it be on record, nothing has run. */
  neverBegan({ runId }: Fence): void {
    this.#neverBegan.set(runId, true);
  }

  isKnownNotToHaveBegun(runId: string | undefined): boolean {
    return runId !== undefined && this.#neverBegan.get(runId) === true;
  }
}
