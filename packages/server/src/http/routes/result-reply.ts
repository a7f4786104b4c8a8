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
  const startedAt = standing.record?.startedAt ?? now;
  const accepted = {
    status: "running" as const,
    callId,
    tool: standing.of.tool,
    version: standing.record?.version ?? "",
    operation: standing.record?.operation ?? "",
    acceptedAt: startedAt,
  };
  const body = acceptedResponse(accepted, { statusUrl: invocationUrl(origin, callId) });
  if (standing.status === "unknown") return { status: 200, body: unknownOutcome(body) };
  return { status: 202, headers: { "retry-after": "1" }, body: { ...body, status: standing.status } };
}

function unknownOutcome({ polling_info: _polling, ...rest }: ToolInvokeResponse): ToolInvokeResponse {
  return { ...rest, status: "error", error: toolError(failure("E3909")) };
}
