import type { CallStanding } from "@sallyport/engine";
import {
  acceptedResponse,
  type CallAnswer,
  failure,
  invokeResponse,
  type ToolInvokeResponse,
  toolError,
} from "@sallyport/protocol";
import type { Reply } from "../route.ts";
import { invocationUrl } from "./addresses.ts";

/** The answer that is on record. Reading it succeeds, whatever it says. */
export function resultReply(answer: CallAnswer): Reply {
  return { status: 200, body: invokeResponse(answer) };
}

interface AskedFor {
  callId: string;
  origin: string;
  now: number;
}

/** There is no answer yet, or nobody knows it. */
export function openReply(standing: CallStanding, { callId, origin, now }: AskedFor): Reply {
  const { version = "", operation = "", startedAt = now } = standing.record ?? runningFacts(standing);
  const { tool } = standing.of;
  const accepted = { status: "running" as const, callId, tool, version, operation, acceptedAt: startedAt };
  const body = acceptedResponse(accepted, { statusUrl: invocationUrl(origin, callId) });
  if (standing.status === "unknown") return { status: 200, body: unknownOutcome(body) };
  const sofar = standing.status === "running" ? Math.max(0, now - startedAt) : 0;
  const execution_metadata = { ...body.execution_metadata, duration_ms: sofar };
  return {
    status: 202,
    headers: { "retry-after": "1" },
    body: { ...body, status: standing.status, execution_metadata },
  };
}

/** What is known of a call that runs, also before the journal has it; nothing of any other. */
export function runningFacts(standing: CallStanding): Partial<RunningFacts> {
  return ("now" in standing && standing.now) || {};
}

type RunningFacts = NonNullable<Extract<CallStanding, { now?: unknown }>["now"]>;

function unknownOutcome({ polling_info: _polling, ...rest }: ToolInvokeResponse): ToolInvokeResponse {
  return { ...rest, status: "error", error: toolError(failure("E3909")) };
}
