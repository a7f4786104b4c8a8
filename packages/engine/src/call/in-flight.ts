import type { Accepted, CallAnswer, Failure } from "@sallyport/protocol";
import type { Attempt } from "./attempt.ts";

export interface Progress {
  percent: number;
  phase: string | undefined;
}

/** What a running call's authority rests on, and how to end the call when that is withdrawn. */
interface Reliance {
  grants: readonly string[];
  jti?: string;
  withdraw(failed: Failure): void;
}

/** A call under way, as whoever looks at it from outside sees it. */
export interface Running {
  controller: AbortController;
  tenant: string;
  agent: string;
  tool: string;
  startedAt: number;
  /** What was asked for, as far as anybody said. */
  version?: string | undefined;
  operation?: string | undefined;
  /** The attempt it is at; absent before there is one. */
  attempt?: Attempting | undefined;
  progress?: Progress;
  reliance?: Reliance | undefined;
}

/** What can be seen of an attempt while it is under way. */
type Attempting = Pick<Attempt, "facts" | "visits" | "journaled" | "waits">;

interface Keyed {
  digest: string;
  answer: Promise<CallAnswer | Accepted>;
}

/** The calls this process is working on: to cancel them, and to answer a second request with the same key. */
export class InFlight {
  readonly #calls = new Map<string, Running>();
  readonly #keys = new Map<string, Keyed>();
  readonly #idle: (() => void)[] = [];
  #closing = false;
  #refusing: string | undefined;

  get size(): number {
    return this.#calls.size;
  }

  enter(callId: string, running: Running): void {
    this.#calls.set(callId, running);
  }

  leave(callId: string): void {
    // The map may keep what it held from the collector for long; the call itself shall not hang on it.
    const running = this.#calls.get(callId);
    if (running) {
      running.reliance = undefined;
      running.attempt = undefined;
    }
    this.#calls.delete(callId);
    if (this.#calls.size === 0) for (const wake of this.#idle.splice(0)) wake();
  }

  /** Resolves once no call is under way. */
  idle(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** From now on a call that asks to come in is refused with this; those that run, run on. Says how many do. */
  refuseMore(why: string): number {
    this.#refusing = why;
    return this.#calls.size;
  }

  /** Why no call comes in any more; undefined while they may. */
  get refusing(): string | undefined {
    return this.#refusing;
  }

  /** Aborts a running call; false when it is not running here. */
  cancel(callId: string, reason: string): boolean {
    const running = this.#calls.get(callId);
    running?.controller.abort(reason);
    return running !== undefined;
  }

  rely(callId: string, reliance: Reliance): void {
    const running = this.#calls.get(callId);
    if (running) running.reliance = reliance;
  }

  /** Ends every running call that rests on one of these; resolves nothing, the calls end on their own. */
  withdraw(what: { grants?: readonly string[]; jti?: string }, failed: Failure): string[] {
    const ended: string[] = [];
    for (const [callId, { reliance }] of this.#calls) {
      const rests =
        (what.jti !== undefined && reliance?.jti === what.jti) ||
        reliance?.grants.some((grant) => what.grants?.includes(grant));
      if (!rests || !reliance) continue;
      ended.push(callId);
      reliance.withdraw(failed);
    }
    return ended;
  }

  /** What of a call is under way now. */
  attend(callId: string, attempt: Attempting): void {
    const running = this.#calls.get(callId);
    if (running) running.attempt = attempt;
  }

  progressed(callId: string, progress: Progress): void {
    const running = this.#calls.get(callId);
    if (running) running.progress = progress;
  }

  get(callId: string): Readonly<Running> | undefined {
    return this.#calls.get(callId);
  }

  /** In the order they came. */
  entries(): Iterable<[callId: string, running: Readonly<Running>]> {
    return this.#calls.entries();
  }

  /** True once the engine is closing: a call that waits for a person then stays on record as waiting. */
  get closing(): boolean {
    return this.#closing;
  }

  cancelAll(reason: string): void {
    this.#closing = true;
    for (const { controller } of this.#calls.values()) controller.abort(reason);
  }

  keyed(key: string): Keyed | undefined {
    return this.#keys.get(key);
  }

  /** Holds the key while the answer is being made. */
  hold(key: string, keyed: Keyed): void {
    this.#keys.set(key, keyed);
    const letGo = () => this.#keys.delete(key);
    keyed.answer.then(letGo, letGo);
  }
}
