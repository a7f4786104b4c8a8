import type { CallAnswer, CallStatus } from "@sallyport/protocol";
import type { CallRecord } from "../ports/calls.ts";
import type { House } from "./house.ts";
import type { Progress } from "./in-flight.ts";
import { type RunningNow, runningNow } from "./running.ts";

/** Whose call it is. */
interface Owned {
  of: { tenant: string; agent: string; tool: string };
  /** Absent while a call runs of which nothing has to be on record yet. */
  record?: CallRecord;
}

/** How a call stands right now. */
export type CallStanding = Owned &
  (
    | { status: "pending" }
    | { status: "running"; progress?: Progress; now?: RunningNow }
    | { status: "unknown" }
    | { status: "pending_approval"; approvalId: string }
    | { status: CallStatus; answer: CallAnswer }
  );

/** How a call stands; undefined when there is none of that id. */
export async function standingOf(callId: string, house: House): Promise<CallStanding | undefined> {
  const running = house.inFlight.get(callId);
  const record = await house.store.calls.get(callId);
  const of = record ?? running;
  if (!of) return undefined;
  const { tenant, agent, tool } = of;
  const owned: Owned = { of: { tenant, agent, tool }, ...(record && { record }) };
  if (record?.closing) return { ...owned, status: record.closing.status, answer: record.closing.answer };
  if (record?.phase === "waiting") {
    const approval = await house.store.approvals.ofCall(callId);
    return { ...owned, status: "pending_approval", approvalId: approval?.approvalId ?? "" };
  }
  if (record?.phase === "queued") return { ...owned, status: "pending" };
  if (running) {
    const { progress } = running;
    return { ...owned, status: "running", now: runningNow(running), ...(progress && { progress }) };
  }
  return { ...owned, status: "unknown" };
}
