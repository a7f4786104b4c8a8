import { LruMap } from "../lru-map.ts";
import type { Fence, UnitOfWork } from "../ports/store.ts";

/** What is beyond these bounds is judged by the record alone, as after a crash. */
const MOST_RUNS = 10_000;
const MOST_OWED_CHARS = 32 * 1024 * 1024;

/**
 * What this process knows of its runs and the record may not, because the store was away: which units may still land,
 * which intents began nothing, and which ends it owes the record. It lives as long as the process; without it a call is judged as
 * after a crash.
 */
export class UnrecordedRuns {
  /** How many units of a call were given up and are still under way in the store's client. */
  readonly #landing = new Map<string, number>();
  readonly #neverBegan = new LruMap<string, true>(MOST_RUNS);

  /** The ends of runs that the store did not take, the oldest first. */
  readonly #owed = new Map<string, { unit: UnitOfWork; chars: number }>();
  #owedChars = 0;

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

  /** The end of the run is to be sent again. The first one of a run stays: it says the most. */
  owe({ runId }: Fence, unit: UnitOfWork): void {
    if (this.#owed.has(runId)) return;
    const chars = JSON.stringify(unit).length;
    this.#owed.set(runId, { unit, chars });
    this.#owedChars += chars;
    for (const oldest of this.#owed.keys()) {
      if (this.#owedChars <= MOST_OWED_CHARS) return;
      this.settled(oldest);
    }
  }

  owed(runId: string): UnitOfWork | undefined {
    return this.#owed.get(runId)?.unit;
  }

  /** The run's end is on record, whoever wrote it, or this one cannot be. */
  settled(runId: string): void {
    this.#owedChars -= this.#owed.get(runId)?.chars ?? 0;
    this.#owed.delete(runId);
  }

  /** The record alone would do. */
  get isEmpty(): boolean {
    return this.#owed.size === 0 && this.#neverBegan.size === 0;
  }

  isKnownNotToHaveBegun(runId: string | undefined): boolean {
    return runId !== undefined && this.#neverBegan.get(runId) === true;
  }
}
