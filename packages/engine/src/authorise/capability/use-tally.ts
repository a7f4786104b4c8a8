const REMEMBERED_CALLS = 256;

/**
 * How often a grant was used in this process. A call that rests on the grant is one use from its beginning; the first
 * use of the capability while it runs is that one, each further use is another.
 */
export class UseTally {
  readonly #remembers: number;
  /** Oldest first; no more than are needed to judge the constraints. */
  readonly #uses: number[] = [];
  /** Calls whose one use has been counted and not been made yet. */
  readonly #unmade = new Set<string>();
  readonly #seen = new Set<string>();
  #calls = 0;

  constructor(remembers: number) {
    this.#remembers = remembers;
  }

  /** Calls that have begun; a call that is tried again is one. */
  get calls(): number {
    return this.#calls;
  }

  newestUse(nth: number): number | undefined {
    return this.#uses[this.#uses.length - nth];
  }

  /** Whether the call is one of those counted. */
  hasBegun(callId: string): boolean {
    return this.#seen.has(callId);
  }

  /** Whether the next use of the call was counted when the call began. */
  isCounted(callId: string): boolean {
    return this.#unmade.has(callId);
  }

  begin(callId: string, at: number): void {
    if (!this.#seen.has(callId)) this.#calls += 1;
    forgetOldest(this.#seen.add(callId), REMEMBERED_CALLS);
    if (this.#unmade.has(callId)) return;
    this.#add(at);
    forgetOldest(this.#unmade.add(callId), REMEMBERED_CALLS);
  }

  use(callId: string, at: number): void {
    if (!this.#unmade.delete(callId)) this.#add(at);
  }

  #add(at: number): void {
    this.#uses.push(at);
    if (this.#uses.length > this.#remembers) this.#uses.shift();
  }
}

function forgetOldest(kept: Set<string>, most: number): void {
  if (kept.size <= most) return;
  const [oldest] = kept;
  if (oldest !== undefined) kept.delete(oldest);
}
