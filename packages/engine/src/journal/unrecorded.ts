import type { Failure } from "@sallyport/protocol";
import { LruMap } from "../lru-map.ts";
import type { Fence, UnitOfWork } from "../ports/store.ts";

/** What is beyond these bounds is judged by the record alone, as after a crash. */
const MOST_RUNS = 10_000;
const MOST_OWED_CHARS = 32 * 1024 * 1024;

/** How a run ended of which nothing is in the store but, perhaps, that it executes. */
interface UndoneRun {
  error: Failure;
  /** The call's tool was reached, in this run or an earlier one: its uses of grants are spent. */
  hasStarted: boolean;
}

/** An end that the store did not take, and the runs of its call that the record may hold. */
interface OwedEnd {
  unit: UnitOfWork;
  runs: readonly Fence[];
  chars: number;
}

/**
 * What this process knows of its runs and the record may not, because the store was away: which units may still land,
 * which runs changed nothing, and which ends it owes the record. It lives as long as the process; without it a call is
 * judged as after a crash.
 */
export class UnrecordedRuns {
  /** How many units of a call were given up and are still under way in the store's client. */
  readonly #landing = new Map<string, number>();
  readonly #undone = new LruMap<string, UndoneRun>(MOST_RUNS);

  /** By call, the oldest first. */
  readonly #owed = new Map<string, OwedEnd>();
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

  /** Nothing of the run took hold outside this process: should it be on record, it is to be closed as undone. */
  undone({ runId }: Fence, run: UndoneRun): void {
    this.#undone.set(runId, run);
  }

  /** The end of a call is to be sent again, as the run that the record holds. The first one stays: it says the most. */
  owe(runs: readonly Fence[], unit: UnitOfWork): void {
    const callId = runs[0]?.callId;
    if (callId === undefined || this.#owed.has(callId)) return;
    const chars = JSON.stringify(unit).length;
    this.#owed.set(callId, { unit, runs, chars });
    this.#owedChars += chars;
    for (const oldest of this.#owed.keys()) {
      if (this.#owedChars <= MOST_OWED_CHARS) return;
      this.settled(oldest);
    }
  }

  /** Undefined when there is none for that run. */
  owed({ callId, runId }: Fence): UnitOfWork | undefined {
    const end = this.#owed.get(callId);
    const fence = end?.runs.find((run) => run.runId === runId);
    return end && fence && { ...end.unit, fence };
  }

  /** The call's end is on record, whoever wrote it, or this one cannot be. */
  settled(callId: string): void {
    this.#owedChars -= this.#owed.get(callId)?.chars ?? 0;
    this.#owed.delete(callId);
  }

  /** The record alone would do. */
  get isEmpty(): boolean {
    return this.#owed.size === 0 && this.#undone.size === 0;
  }

  undoneRun(runId: string | undefined): UndoneRun | undefined {
    return runId === undefined ? undefined : this.#undone.get(runId);
  }
}
