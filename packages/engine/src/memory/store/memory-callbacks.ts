import type { Callback, CallbackWrite } from "../../ports/callbacks.ts";
import type { Conflict } from "../../ports/store.ts";

/** Who is to be told of which end, by call. One that was delivered or given up is kept as it is and never due again. */
export class MemoryCallbacks {
  readonly #callbacks = new Map<string, Callback>();
  /** Calls whose callback is due some time, in the order they were first written. */
  readonly #due = new Set<string>();

  /** Each write is taken to follow those before it. */
  check(writes: readonly CallbackWrite[]): Conflict | undefined {
    const written = new Map<string, Callback>();
    const stale = writes.find(({ callback, expect }) => {
      const known = written.get(callback.callId) ?? this.#callbacks.get(callback.callId);
      if (known?.attempts !== expect || (known && known.state !== "due")) return true;
      written.set(callback.callId, callback);
      return false;
    });
    return stale && { kind: "callback", callId: stale.callback.callId };
  }

  put(callback: Callback): void {
    this.#callbacks.set(callback.callId, { ...callback });
    if (callback.state === "due") this.#due.add(callback.callId);
    else this.#due.delete(callback.callId);
  }

  /** Of those due at the same time, the one that was written first comes first. */
  due(by: number, limit: number): Callback[] {
    const overdue = [...this.#due]
      .flatMap((callId) => this.#callbacks.get(callId) ?? [])
      .filter(({ dueAt }) => dueAt <= by)
      .sort((one, other) => one.dueAt - other.dueAt);
    return overdue.slice(0, Math.max(0, limit)).map((callback) => ({ ...callback }));
  }

  ofCall(callId: string): Callback | undefined {
    const callback = this.#callbacks.get(callId);
    return callback && { ...callback };
  }

  forgetCall(callId: string): void {
    this.#callbacks.delete(callId);
    this.#due.delete(callId);
  }
}

/** Throws when a write counts backwards: a mistake of the writer, never a race. */
export function requireCountingOn({ callback, expect = 0 }: CallbackWrite): void {
  if (callback.attempts >= expect) return;
  throw new RangeError(
    `The callback of ${callback.callId} counts ${callback.attempts} attempts after ${expect}.`,
  );
}
