import { failure, SallyportError } from "@sallyport/protocol";
import { mapMethods } from "../map-methods.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import { timerMs } from "../timeouts.ts";

/** Long reads of operators and of the relay. No call waits for them. */
const UNBOUNDED = /^(audit\.|outbox\.|probe$|close$)/;

interface BoundOptions {
  maxMs: number;
  /** Names this run of the process, and no other. */
  owner: string;
  /** The strand of the audit chain that this process writes now; 0 when left out. */
  strand?: () => number;
  /** Told of a unit that was given up without an answer, and when it cannot be under way here any more. */
  onGivenUp?: (unit: UnitOfWork, over: Promise<unknown>) => void;
}

/**
 * The store as calls use it. Every wait has an end: a store that does not answer in time counts as lost (E3914), so no
 * call hangs on it. Every unit gets an id, and one that is not answered is sent once more: the store applies it once.
 */
export function boundStore(store: Store, { maxMs, owner, strand, onGivenUp }: BoundOptions): Store {
  const deadlines = new Deadlines(maxMs);
  let units = 0;
  const bounded = mapMethods(store, (method, path) =>
    UNBOUNDED.test(path) ? method : (...args) => deadlines.within(method(...args)),
  );
  // Rejects as unanswered when the second answer says nothing about what became of the first.
  bounded.commit = (unit) => {
    units += 1;
    const named = { ...unit, id: `${owner}-${units}`, ...(strand && { strand: strand() }) };
    const first = store.commit(named);
    return deadlines.within(first, (late) => {
      const again = store.commit(named);
      return deadlines.within(again).catch(() => {
        onGivenUp?.(unit, Promise.allSettled([first, again]));
        return Promise.reject(late);
      });
    });
  };
  return bounded;
}

interface Pending {
  lostAt: number;
  /** Let go of with the answer: a set that is filled and emptied on and on keeps what it held from the collector. */
  reject: ((error: SallyportError) => void) | undefined;
}

/** Watches many answers with one timer: all may take equally long, so the oldest is always the next to be late. */
class Deadlines {
  readonly #maxMs: number;
  readonly #pending = new Set<Pending>();
  #timer: NodeJS.Timeout | undefined;

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  /** `again` asks a second time after an answer that did not come. */
  within<T>(answer: T | Promise<T>, again?: (late: unknown) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const refuse = (error: unknown) =>
        again && isUnanswered(error) ? resolve(again(error)) : reject(error);
      const pending: Pending = { lostAt: performance.now() + this.#maxMs, reject: refuse };
      this.#pending.add(pending);
      this.#timer ??= setTimeout(() => this.#check(), timerMs(this.#maxMs)).unref();
      Promise.resolve(answer).then(
        (value) => {
          this.#answered(pending);
          resolve(value);
        },
        (error: unknown) => {
          // Given up already: it has been asked again since.
          if (this.#answered(pending)) refuse(error);
        },
      );
    });
  }

  /** False when it had been given up. */
  #answered(pending: Pending): boolean {
    pending.reject = undefined;
    return this.#pending.delete(pending);
  }

  #check(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const pending of this.#pending) {
      if (pending.lostAt > now) {
        this.#timer = setTimeout(() => this.#check(), timerMs(pending.lostAt - now + 1)).unref();
        return;
      }
      this.#pending.delete(pending);
      pending.reject?.(unanswered(`The store did not answer in ${this.#maxMs} ms.`));
    }
  }
}

/** The exception for a question whose answer did not come: what was to be written may still become durable. */
export function unanswered(message: string): SallyportError {
  return new SallyportError(failure("E3914", { message, details: { unanswered: true } }));
}

/** Whether nobody knows what became of a unit. Any other rejection says that it was not written and will not be. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof SallyportError && error.failure.details?.unanswered === true;
}

/** Why the store did not do what it was asked, where it said so in words meant to be read. */
export function reasonOf(error: unknown): string | undefined {
  return error instanceof SallyportError ? error.failure.message : undefined;
}
