import { failure, SallyportError } from "@sallyport/protocol";
import type { Store } from "../ports/store.ts";

/** The store with an end to every wait: one that does not answer in time counts as lost (E3914), so no call hangs on it. */
export function boundStore(store: Store, maxMs: number): Store {
  const { calls, state, audit, outbox, tools } = store;
  const bound = <T>(answer: Promise<T>) => within(answer, maxMs);
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
    close: () => store.close(),
  };
}

function within<T>(answer: Promise<T>, maxMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(new SallyportError(failure("E3914", { message: `The store did not answer in ${maxMs} ms.` })));
    const timer = setTimeout(late, maxMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
