import { defined, type Failure, failure, isFailure, type JsonValue, type Risk } from "@sallyport/protocol";
import type { CallRequest, EngineContext } from "../context.ts";
import { Attempt, receive, type Suspension } from "../passage/attempt.ts";
import type { Authorised } from "../passage/authorise.ts";
import { evaluation } from "../passage/pipeline.ts";
import { Ending, Refused } from "../passage/steps.ts";
import type { ApprovalCause } from "../ports/approvals.ts";
import { approvalCause, contentOf } from "./stage.ts";

/** What would become of a call if it were made now. Nothing has run, nobody was asked, nothing is on record. */
export type CallPlan =
  | { kind: "refused"; error: Failure }
  /** `standing`: the standing grant that answered for it, where one did. */
  | { kind: "run"; summary: string; risk: Risk; standing?: string }
  | { kind: "ask"; because: ApprovalCause; summary: string; risk: Risk };

/** A call that is only looked at. */
export type PlanRequest = Pick<
  CallRequest,
  "tool" | "version" | "operation" | "caller" | "requireApproval"
> & { input: JsonValue };

/** What would become of a call: refused, run at once, or put to a person. Nothing is recorded and nothing runs. */
export async function planCall(request: PlanRequest, context: EngineContext): Promise<CallPlan> {
  const authorised = await evaluateCall({ request, callId: context.ids.next() }, context);
  if (isFailure(authorised)) return { kind: "refused", error: authorised };
  const content = contentOf(authorised);
  if (isFailure(content)) return { kind: "refused", error: content };
  const { summary, risk } = content;
  const because = approvalCause(authorised);
  if (because) return { kind: "ask", because, summary, risk };
  return { kind: "run", summary, risk, ...defined({ standing: authorised.decision.standing }) };
}

/** A call before it is made, or with other arguments than it was made with. */
interface CallDraft {
  request: CallRequest;
  callId: string;
  /** Set when the journal holds the call as waiting. */
  waits?: Suspension;
}

/**
 * Walks the stages that only look: resolve, validate, authorise. Nothing is recorded and nothing runs; the answer is
 * what is known of the call then, or why it would not get that far.
 */
export async function evaluateCall(
  { request, callId, waits }: CallDraft,
  context: EngineContext,
): Promise<Authorised | Failure> {
  const attempt = new Attempt({
    request: { ...request, disclosure: "full" },
    callId,
    startedAt: context.clock.now(),
    received: receive(request.input, context.limits.input),
    controller: new AbortController(),
    waits,
  });
  const end = await evaluation.walk({ attempt, progress: attempt.progress }, context);
  if (end instanceof Refused) return end.error;
  if (!(end instanceof Ending)) return end;
  return end.progress.error ?? failure("E3900", { message: "A call ended without a reason before it ran." });
}
