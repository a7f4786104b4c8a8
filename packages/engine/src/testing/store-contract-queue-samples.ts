import type { CallRecord } from "../ports/calls.ts";
import type { QueuedCall } from "../ports/queue.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import { applied, failedClosing, queueing, sampleIntent, unitOf } from "./store-contract-samples.ts";

/** A call as it is opened to be queued. */
export const queuedCall = (fields: Partial<CallRecord> = {}) => sampleIntent({ phase: "queued", ...fields });

/** Begins the call as it is, with one event. */
export const beginning = ({ phase: _, ...begin }: CallRecord) =>
  unitOf({ tenant: begin.tenant, begin, events: ["{}"] });

/** Closes the call without an output, with one event. */
export function ending({ callId, tenant }: CallRecord): UnitOfWork {
  const close = { callId, phase: "closed", closing: failedClosing(callId, "error") } as const;
  return unitOf({ tenant, close, events: ["{}"] });
}

/** Accepts as many calls, one after the other. */
export async function accepted(store: Store, count: number): Promise<CallRecord[]> {
  const calls = Array.from({ length: count }, () => queuedCall());
  for (const call of calls) await applied(store, queueing(call));
  return calls;
}

/** The call's place as `queueing` gives it. */
export function placeOf({ callId, tenant, agent, tool, startedAt }: CallRecord): QueuedCall {
  return { callId, tenant, agent, tool, priority: "normal", queuedAt: startedAt };
}

/** Everything a unit that accepts, begins or ends a call may touch. */
export async function queueContents(store: Store) {
  return {
    calls: await store.calls.list({ limit: 99 }),
    queue: await store.queue.list({ limit: 99 }),
    events: await store.audit.read("acme", { after: 0, limit: 99 }),
  };
}
