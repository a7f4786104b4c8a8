import type { CallAnswer } from "@sallyport/protocol";
import type { OutboxMessage } from "../ports/outbox.ts";
import type { StateWrites } from "../ports/state.ts";
import type { UnitOfWork } from "../ports/store.ts";
import type { ResolvedTool } from "../registry/index.ts";
import type { Attempt } from "./attempt.ts";
import { intentOf, usesOf } from "./call-record.ts";
import { callbacksOf } from "./callbacks.ts";
import type { House } from "./house.ts";

interface Closing {
  attempt: Attempt;
  tool: ResolvedTool;
  answer: CallAnswer;
  events: string[];
  /** Whether the tool ran: only then is its idempotency key spent and was it announced as invoked. */
  executed: boolean;
  state?: StateWrites | undefined;
}

/** Everything the end of a call changes: outcome, state, events, messages. One unit, all or none. */
export function closingUnit(
  { attempt, tool, answer, events, executed, state }: Closing,
  house: House,
): UnitOfWork {
  const { callId, request } = attempt;
  const closing = {
    status: answer.status,
    closedAt: answer.completedAt,
    answer,
    ...(attempt.facts.outputHash !== undefined && { outputHash: attempt.facts.outputHash }),
  };
  const outbox = endMessages(callId, answer);
  const base = { tenant: request.caller.tenant, events, ...(state && { state }) };
  // Who got this very answer does not have to be told a second time.
  const told = attempt.waits && callbacksOf(intentOf(attempt, tool, house), answer.completedAt);
  if (attempt.journaled) return { ...base, ...told, close: { callId, phase: "closed", closing }, outbox };
  const grantUses = executed ? usesOf(attempt) : [];
  const bindsKey = executed && request.idempotencyKey !== undefined;
  return {
    ...base,
    ...(grantUses.length > 0 && { grantUses }),
    open: {
      ...intentOf(attempt, tool, house),
      ...(bindsKey && { idempotencyKey: request.idempotencyKey }),
      phase: "closed",
      closing,
    },
    outbox: executed ? [{ callId, type: "tool.invoked" }, ...outbox] : outbox,
  };
}

function endMessages(callId: string, { status }: CallAnswer): OutboxMessage[] {
  if (status === "success") return [{ callId, type: "tool.succeeded" }];
  const failed: OutboxMessage = { callId, type: "tool.failed" };
  return status === "timeout" ? [failed, { callId, type: "tool.timeout" }] : [failed];
}
