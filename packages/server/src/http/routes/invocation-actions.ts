import {
  failure,
  invocationParamsField,
  SallyportError,
  type ToolCancelRequest,
  type ToolCancelResponse,
  toolCancelRequestField,
  toolCancelResponseField,
} from "@sallyport/protocol";
import { must } from "../../must.ts";
import type { Principal } from "../principal.ts";
import { defineRoute, type Route } from "../route.ts";
import { CALL_ANSWERS, callReply } from "./call-reply.ts";
import type { InvocationParams } from "./invocations.ts";
import { malformed } from "./malformed.ts";
import type { RouteContext } from "./parts.ts";
import { asGiven, visibleCall } from "./visible-call.ts";

/** `POST /v1/invocations/{id}:…`: tool.cancel (L3 §4.1.4), and going on after an approval. */
export function invocationActionRoutes(parts: RouteContext): Route[] {
  return [cancelRoute(parts), resumeRoute(parts)];
}

function cancelRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "cancelInvocation",
    method: "POST",
    path: "/v1/invocations/{invocation_id}:cancel",
    tag: "Invocations",
    summary: "Cancel a call",
    description:
      "tool.cancel. Safe to repeat: the answer says what happened, also when the call had ended before.",
    access: "caller",
    params: invocationParamsField,
    body: toolCancelRequestField,
    answers: { 200: { description: "What came of it.", schema: toolCancelResponseField } },
    handle: async ({ params, body, principal }) => {
      if (body) refuseOthers(body, params, principal);
      const { callId } = await visibleCall(params.invocation_id, principal, parts);
      const reason = body?.reason ?? "cancelled by request";
      const done = await parts.engine.cancelCall(callId, {
        reason: `${reason} (${nameOf(principal)})`,
      });
      if (!done) throw new SallyportError(failure("E3917"));
      const { cancelled, message, status } = done;
      const answer: ToolCancelResponse = {
        invocation_id: params.invocation_id,
        cancelled,
        message,
        status: status === "unknown" ? "error" : status,
      };
      return asGiven({ status: 200, body: answer }, callId, principal);
    },
  });
}

/** A body that means another call, or another agent, than the request is for. Throws E3903. */
function refuseOthers(
  { invocation_id, agent_context }: ToolCancelRequest,
  params: InvocationParams,
  principal: Principal,
): void {
  if (typeof invocation_id === "string" && invocation_id !== params.invocation_id)
    throw new SallyportError(malformed("/invocation_id", "is another call than the one in the path"));
  if (!agent_context || principal.kind !== "agent") return;
  const { agent, tenant } = principal.claims;
  const reason = "is not whom the token names";
  if (agent_context.agent_did !== agent)
    throw new SallyportError(malformed("/agent_context/agent_did", reason));
  if (agent_context.tenant_id !== tenant)
    throw new SallyportError(malformed("/agent_context/tenant_id", reason));
}

/** Who asks, for the record. */
function nameOf(principal: Principal): string {
  if (principal.kind === "operator") return `operator ${principal.name}`;
  return principal.kind === "agent" ? `agent ${principal.claims.agent}` : "over HTTP";
}

function resumeRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "resumeInvocation",
    method: "POST",
    path: "/v1/invocations/{invocation_id}:resume",
    tag: "Invocations",
    summary: "Run a call that was approved",
    description:
      "For a call that waits although it was approved, such as one another door took in. Calls of this door go on by themselves.",
    access: "operator",
    params: invocationParamsField,
    answers: CALL_ANSWERS,
    handle: async ({ params, origin }) => {
      const goingOn = { onApproval: "pending", disclosure: "full" } as const;
      return callReply(must(await parts.engine.resume(params.invocation_id, goingOn)), origin);
    },
  });
}
