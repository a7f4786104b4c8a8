import { setTimeout as sleep } from "node:timers/promises";
import type { Accepted, CallAnswer } from "@sallyport/protocol";
import type { CallRecord } from "../ports/calls.ts";
import type { House } from "./house.ts";
import { replayed } from "./replay.ts";

/** How long a missed message can delay an answer. */
const LOOK_AGAIN_MS = 250;

export function isAccepted(end: CallAnswer | Accepted): end is Accepted {
  return "acceptedAt" in end;
}

/** What is said of a call that was accepted before, whoever asks for it again. */
export function acceptedOf({ callId, tool, version, operation, startedAt, phase }: CallRecord): Accepted {
  const status = phase === "queued" ? "pending" : "running";
  return { status, callId, tool, version, operation, acceptedAt: startedAt };
}

/** The call is queued, or runs in this process: then its answer comes, and there is no second one. */
export function isUnderWay({ phase, callId }: CallRecord, house: House): boolean {
  return phase === "queued" || (phase === "executing" && house.inFlight.get(callId) !== undefined);
}

/** A house that closes begins nothing any more: what is queued then gets its answer after the next start. */
export function isLeftForLater({ phase }: CallRecord, { inFlight }: House): boolean {
  return phase === "queued" && (inFlight.refusing !== undefined || inFlight.closing);
}

/** The recorded answer of an accepted call, once there is one; undefined when it will not come here, or the signal came first. */
export async function untilEnded(
  callId: string,
  signal: AbortSignal,
  house: House,
): Promise<CallAnswer | undefined> {
  while (!signal.aborted) {
    const record = await house.store.calls.get(callId);
    if (record?.closing) return replayed(record.closing.answer);
    if (!record || record.phase === "unknown" || isLeftForLater(record, house)) return undefined;
    await oneMoreLook(callId, signal, house);
  }
  return undefined;
}

async function oneMoreLook(callId: string, signal: AbortSignal, { feeds }: House): Promise<void> {
  const feed = feeds.get(callId);
  const timeUp = AbortSignal.any([signal, AbortSignal.timeout(LOOK_AGAIN_MS)]);
  if (feed && !feed.ended) await feed.next(feed.last, timeUp);
  else await sleep(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
}
