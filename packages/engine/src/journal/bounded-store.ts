import type { SallyportError } from "@sallyport/protocol";
import type { Store } from "../ports/store.ts";
import { unanswered } from "./unanswered.ts";

/** The store with an end to every wait: one that does not answer in time counts as lost (E3914), so no call hangs on it. */
export function boundStore(store: Store, maxMs: number): Store {
  const { calls, state, audit, outbox, tools, approvals, grants, revocations, queue, callbacks } = store;
  const patience = new Patience(maxMs);
  const bound = <T>(answer: Promise<T>) => patience.within(answer);
  return {
    commit: (unit) => bound(store.commit(unit)),
    calls: {
      get: (callId) => bound(calls.get(callId)),
      byIdempotencyKey: (key) => bound(calls.byIdempotencyKey(key)),
      list: (filter) => bound(calls.list(filter)),
    },
    state: {
      open: (scope) => bound(state.open(scope)),
      get: (snapshot, key) => bound(state.get(snapshot, key)),
      keys: (snapshot, query) => bound(state.keys(snapshot, query)),
      writtenBy: (scope, callId) => bound(state.writtenBy(scope, callId)),
      release: (snapshot) => state.release(snapshot),
    },
    audit,
    outbox,
    tools: { all: () => bound(tools.all()) },
    approvals: {
      get: (approvalId) => bound(approvals.get(approvalId)),
      ofCall: (callId) => bound(approvals.ofCall(callId)),
      list: (filter) => bound(approvals.list(filter)),
      order: (approvalId) => bound(approvals.order(approvalId)),
    },
    grants: {
      get: (grantId) => bound(grants.get(grantId)),
      all: () => bound(grants.all()),
    },
    revocations: { all: () => bound(revocations.all()) },
    queue: {
      list: (page) => bound(queue.list(page)),
      order: (callId) => bound(queue.order(callId)),
    },
    callbacks: {
      due: (by, limit) => bound(callbacks.due(by, limit)),
      ofCall: (callId) => bound(callbacks.ofCall(callId)),
    },
    close: () => store.close(),
  };
}

interface Pending {
  lostAt: number;
  /** Let go of with the answer: a set that is filled and emptied on and on keeps what it held from the collector. */
  reject: ((error: SallyportError) => void) | undefined;
}

/** Watches many answers with one timer: all may take equally long, so the oldest is always the next to be late. */
class Patience {
  readonly #maxMs: number;
  readonly #pending = new Set<Pending>();
  #timer: NodeJS.Timeout | undefined;

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending: Pending = { lostAt: performance.now() + this.#maxMs, reject };
      this.#pending.add(pending);
      this.#timer ??= setTimeout(() => this.#check(), this.#maxMs).unref();
      answer.then(
        (value) => {
          this.#answered(pending);
          resolve(value);
        },
        (error: unknown) => {
          this.#answered(pending);
          reject(error);
        },
      );
    });
  }

  #answered(pending: Pending): void {
    this.#pending.delete(pending);
    pending.reject = undefined;
  }

  #check(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const pending of this.#pending) {
      if (pending.lostAt > now) {
        this.#timer = setTimeout(() => this.#check(), pending.lostAt - now + 1).unref();
        return;
      }
      this.#pending.delete(pending);
      pending.reject?.(unanswered(`The store did not answer in ${this.#maxMs} ms.`));
    }
  }
}
