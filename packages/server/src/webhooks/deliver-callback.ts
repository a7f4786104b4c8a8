import type { Delivery, WebhookSender } from "@sallyport/adapters/webhook";
import { givenId, tenantId } from "@sallyport/engine/host";
import type { Callback, CallRecord, Clock, Store } from "@sallyport/engine/ports";
import { invokeResponse } from "@sallyport/protocol";
import { type Backoff, waitAfter } from "./backoff.ts";
import { hostOf, type WebhookLog } from "./webhook-log.ts";

/** What a callback's delivery needs. */
interface DeliveryContext {
  store: Pick<Store, "commit" | "calls">;
  sender: Pick<WebhookSender, "send">;
  clock: Clock;
  log: WebhookLog;
  refuse?: (url: string) => string | undefined;
  /** Tries before it is given up. */
  attempts: number;
  backoff: Backoff;
  /** How long a claim holds. */
  holdMs: number;
}

/**
 * One try of a callback that this process has claimed, until the try must be over: sent, then settled. A process that
 * dies in between leaves it to be tried again: at least once, never never. Rejects when the store is lost.
 */
export async function deliverCallback(
  taken: Callback,
  context: DeliveryContext,
  signal: AbortSignal,
): Promise<void> {
  const { clock, holdMs, log, store } = context;
  const elapsed = () => clock.elapsed?.() ?? clock.now();
  const begunAt = elapsed();
  const delivery = await send(taken, context, signal);
  // By the store's clock, which said when the claim ends: that of this process may be wrong.
  const now = taken.dueAt - holdMs + (elapsed() - begunAt);
  const settled = outcome(taken, delivery, { context, now, stopped: signal.aborted });
  report(settled, log);
  // Refused when another process has taken it over meanwhile: theirs counts.
  await store.commit({ tenant: taken.tenant, callbacks: [{ callback: settled, expect: taken.attempts }] });
}

async function send(
  { callId, tenant, url }: Callback,
  context: DeliveryContext,
  signal: AbortSignal,
): Promise<Delivery> {
  const refused = context.refuse?.(url);
  if (refused !== undefined) return { ok: false, problem: `It is not sent: ${refused}.`, retryable: false };
  const record = await context.store.calls.get(callId);
  const body = record && bodyOf(record, context);
  if (body === undefined) {
    const problem = record ? "What to send could not be written." : "The call is not on record any more.";
    return { ok: false, problem, retryable: false };
  }
  return await context.sender.send({ id: webhookId(callId, tenant), url, body, signal });
}

/**
 * The ToolInvokeResponse that a caller who waited would have got, with the id it gave. Undefined before the end, and when
 * it cannot be written.
 */
function bodyOf({ closing, callId }: CallRecord, context: DeliveryContext): string | undefined {
  try {
    return closing && JSON.stringify(invokeResponse(closing.answer)).replaceAll(callId, givenId(callId));
  } catch (error) {
    context.log.warn({ callId, err: error }, "a callback's body could not be written");
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
  { context, now, stopped }: { context: DeliveryContext; now: number; stopped: boolean },
): Callback {
  if (delivery.ok) return { ...taken, state: "delivered" };
  const { problem, retryable, retryAfterMs } = delivery;
  // Cut off by the end of this process: the next one goes on at once.
  if (stopped && retryable) return { ...taken, problem, dueAt: now };
  if (!retryable || taken.attempts >= context.attempts) return { ...taken, problem, state: "given_up" };
  const dueAt = now + waitAfter(taken.attempts, context.backoff, retryAfterMs);
  return { ...taken, problem, dueAt };
}

function report({ callId, url, state, attempts, problem }: Callback, log: WebhookLog): void {
  const facts = { callId, host: hostOf(url), attempts, ...(problem !== undefined && { problem }) };
  if (state === "given_up") log.warn(facts, "a callback was given up");
  else
    log.info(facts, state === "delivered" ? "a callback was delivered" : "a callback is tried again later");
}
