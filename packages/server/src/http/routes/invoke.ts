import {
  callFromInvoke,
  type Failure,
  SallyportError,
  type ToolInvokeRequest,
  toolInvokeRequestField,
} from "@sallyport/protocol";
import { defineRoute, type Reply, type Route, type RouteRequest } from "../route.ts";
import { acceptedReply, CALL_ANSWERS, callReply, isAccepted } from "./call-reply.ts";
import { callRequestOf } from "./call-request.ts";
import { malformed } from "./malformed.ts";
import type { RouteContext } from "./parts.ts";
import { asGiven } from "./visible-call.ts";

const DESCRIPTION = `tool.invoke: one operation of one tool. The answer comes when the call has ended, or, with
\`execution_options.async_mode\` or \`Prefer: respond-async\`, as soon as it is on record. With an idempotency key the
same request is run once, however often it is sent, and goes on when the client goes away; without one the call is
cancelled then. A call that needs a person's approval is answered with 202 and goes on by itself once it is approved.`;

/** `POST /v1/tools/invoke`: tool.invoke (L3 §4.1.1). */
export function invokeRoutes(parts: RouteContext): Route[] {
  return [
    defineRoute({
      id: "invokeTool",
      method: "POST",
      path: "/v1/tools/invoke",
      tag: "Tools",
      summary: "Run a tool",
      description: DESCRIPTION,
      access: "caller",
      body: toolInvokeRequestField,
      headers: {
        "Idempotency-Key": "The same as `execution_options.idempotency_key`.",
        Prefer: "`respond-async`: the same as `execution_options.async_mode`.",
        traceparent: "W3C trace context; the call becomes a part of the trace.",
      },
      tokenInBody: (body) => body.capability_token ?? undefined,
      answers: CALL_ANSWERS,
      handle: (asked) => invoke(asked, parts),
    }),
  ];
}

async function invoke(
  asked: RouteRequest<undefined, undefined, ToolInvokeRequest>,
  parts: RouteContext,
): Promise<Reply> {
  const request = callRequestOf(callFromInvoke(asked.body), asked, parts);
  const { callbackUrl } = request;
  const refused = callbackUrl === undefined ? undefined : refuseCallback(callbackUrl, parts);
  if (refused) throw new SallyportError(refused);
  const isPreferred = prefersAsync(asked.headers.prefer);
  // Who wants to be told of the end does not wait for it.
  if (!isPreferred && request.asyncMode !== true && callbackUrl === undefined) {
    const answer = await parts.engine.call(request);
    return asGiven(callReply(answer, asked.origin), answer.callId, asked.principal);
  }
  // Accepted is promised to run, whether or not the client is still there.
  const { signal: _signal, ...lasting } = request;
  const { origin } = asked;
  const end = await parts.engine.accept(lasting);
  const said = isAccepted(end) ? acceptedReply(end, origin) : callReply(end, origin);
  const reply = asGiven(said, end.callId, asked.principal);
  if (!isPreferred || reply.status !== 202) return reply;
  return { ...reply, headers: { ...reply.headers, "preference-applied": "respond-async" } };
}

function refuseCallback(url: string, parts: RouteContext): Failure | undefined {
  if (parts.refuseCallback) return parts.refuseCallback(url);
  return malformed("/execution_options/callback_url", "cannot be used: this server tells nobody of calls");
}

/** Whether the caller prefers not to wait (RFC 7240). */
function prefersAsync(prefer: string | undefined): boolean {
  const wishes = prefer?.split(",") ?? [];
  return wishes.some((wish) => wish.split(";")[0]?.trim().toLowerCase() === "respond-async");
}
