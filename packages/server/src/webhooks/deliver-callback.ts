import type { Delivery, WebhookSender } from "@sallyport/adapters/webhook";
import { givenId, tenantId } from "@sallyport/engine/host";
import type { Callback, CallRecord, Clock, Store } from "@sallyport/engine/ports";
import { type Backoff, waitAfter } from "./backoff.ts";
import { hostOf, type WebhookLog } from "./webhook-log.ts";

/** What a callback's delivery needs. */
export interface CallbackRoom {
  store: Pick<Store, "commit" | "callbacks" | "calls">;
  sender: Pick<WebhookSender, "send" | "timeoutMs">;
  clock: Clock;
  log: WebhookLog;
  body(record: CallRecord): string | undefined;
  refuse?: (url: string) => string | undefined;
  /** Tries before it is given up. */
  attempts: number;
  backoff: Backoff;
}

/** Beyond the sender's own limit: for reading the journal and writing the outcome. */
const LEASE_SLACK_MS = 30_000;

/**
 * One try of a callback. It is taken first, by a write that only one process can make, until the try must be over;
 * then sent; then settled. A process that dies in between leaves it to be tried again: at least once, never never.
 * Rejects when the store is lost.
 */
export async function deliverCallback(due: Callback, room: CallbackRoom, signal: AbortSignal): Promise<void> {
  const taken = { ...due, attempts: due.attempts + 1, dueAt: room.clock.now() + leaseMs(room) };
  if (!(await write(taken, { expect: due.attempts }, room))) return;
  const delivery = await send(taken, room, signal);
  const settled = outcome(taken, delivery, { room, stopped: signal.aborted });
  report(settled, room.log);
  await write(settled, { expect: taken.attempts }, room);
}

function leaseMs({ sender }: CallbackRoom): number {
  return sender.timeoutMs + LEASE_SLACK_MS;
}

/** False when somebody else has written it meanwhile; theirs counts. */
async function write(
  callback: Callback,
  { expect }: { expect: number },
  { store }: CallbackRoom,
): Promise<boolean> {
  const unit = { tenant: callback.tenant, callbacks: [{ callback, expect }] };
  return (await store.commit(unit)).ok;
}

async function send(
  { callId, tenant, url }: Callback,
  room: CallbackRoom,
  signal: AbortSignal,
): Promise<Delivery> {
  const refused = room.refuse?.(url);
  if (refused !== undefined) return { ok: false, problem: `It is not sent: ${refused}.`, retryable: false };
  const record = await room.store.calls.get(callId);
  const body = record && bodyOf(record, room);
  if (body === undefined) {
    const problem = record ? "What to send could not be written." : "The call is not on record any more.";
    return { ok: false, problem, retryable: false };
  }
  return await room.sender.send({ id: webhookId(callId, tenant), url, body, signal });
}

function bodyOf(record: CallRecord, room: CallbackRoom): string | undefined {
  try {
    return room.body(record);
  } catch (error) {
    room.log.warn({ callId: record.callId, err: error }, "a callback's body could not be written");
    return undefined;
  }
}

/**
 * What receivers drop duplicates by. Two tenants may have calls of one id, and neither is to silence the other, so the
 * tenant is always part of it. Dots part the signed text, and a caller may choose the call's id.
 */
function webhookId(callId: string, tenant: string): string {
  return tenantId(givenId(callId), tenant).replaceAll(".", "~");
}

function outcome(
  { problem: _, ...taken }: Callback,
  delivery: Delivery,
  { room, stopped }: { room: CallbackRoom; stopped: boolean },
): Callback {
  if (delivery.ok) return { ...taken, state: "delivered" };
  const { problem, retryable, retryAfterMs } = delivery;
  // Cut off by the end of this process: the next one goes on at once.
  if (stopped && retryable) return { ...taken, problem, dueAt: room.clock.now() };
  if (!retryable || taken.attempts >= room.attempts) return { ...taken, problem, state: "given_up" };
  const dueAt = room.clock.now() + waitAfter(taken.attempts, room.backoff, retryAfterMs);
  return { ...taken, problem, dueAt };
}

function report({ callId, url, state, attempts, problem }: Callback, log: WebhookLog): void {
  const facts = { callId, host: hostOf(url), attempts, ...(problem !== undefined && { problem }) };
  if (state === "given_up") log.warn(facts, "a callback was given up");
  else
    log.info(facts, state === "delivered" ? "a callback was delivered" : "a callback is tried again later");
}
