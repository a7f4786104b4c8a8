import type { CallbackWrite } from "../ports/callbacks.ts";
import type { CallIntent } from "../ports/calls.ts";

/** Somebody wants to be told of this end: due at once, written together with it. */
export function callbacksOf(
  { callId, tenant, callbackUrl }: Pick<CallIntent, "callId" | "tenant" | "callbackUrl">,
  now: number,
): { callbacks?: CallbackWrite[] } {
  if (callbackUrl === undefined) return {};
  const callback = { callId, tenant, url: callbackUrl, state: "due" as const, attempts: 0, dueAt: now };
  return { callbacks: [{ callback }] };
}
