import type { CallStanding } from "@sallyport/engine";
import { givenId } from "@sallyport/engine/host";
import { byCodePoint, type CallFilter, type ListPlace } from "@sallyport/engine/ports";
import {
  acceptedResponse,
  type CallAnswer,
  defined,
  failure,
  type InvocationListQuery,
  type InvocationListResponse,
  invocationListQueryField,
  invocationListResponseField,
  invocationParamsField,
  invokeResponse,
  type ToolInvokeResponse,
  type ToolStatusResponse,
  toolError,
  toolInvokeResponseField,
  toolStatusResponseField,
} from "@sallyport/protocol";
import type { CallOutline } from "../../runtime/store.ts";
import { stageFilter } from "../../stage-filter.ts";
import type { Principal } from "../principal.ts";
import { defineRoute, type Reply, type Route, type RouteRequest } from "../route.ts";
import { invocationUrl } from "./addresses.ts";
import { CALL_CURSORS } from "./cursors.ts";
import { outlineOf, recordView, statusView, timelineOf } from "./invocation-views.ts";
import { isoIfAny } from "./iso-time.ts";
import type { RouteContext } from "./parts.ts";
import { asGiven, findCall, type Sight, sightOf, visibleCall } from "./visible-call.ts";

/** Which call an address names. */
export interface InvocationParams {
  invocation_id: string;
}

/** `GET /v1/invocations…`: how calls stand (L3 §4.1.3), and what came of them. */
export function invocationRoutes(parts: RouteContext): Route[] {
  return [listRoute(parts), statusRoute(parts), resultRoute(parts)];
}

function statusRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "getInvocation",
    method: "GET",
    path: "/v1/invocations/{invocation_id}",
    tag: "Invocations",
    summary: "Show how a call stands",
    description: "tool.status. An agent sees its own calls; any other call is answered with 404.",
    access: "caller",
    params: invocationParamsField,
    answers: {
      200: {
        description: "How it stands.",
        schema: toolStatusResponseField,
        headers: { "Retry-After": "While it is open: seconds to wait before asking again." },
      },
    },
    handle: async ({ params, principal, origin }) => {
      const { callId, standing } = await visibleCall(params.invocation_id, principal, parts);
      const seesAll = sightOf(principal, parts) === "everything";
      const timeline = timelineOf(standing, { seesAll });
      const body = {
        ...sinceWhen(standing),
        ...statusView(callId, standing, origin),
        ...defined({ timeline }),
      };
      const isOver = "answer" in standing || standing.status === "unknown";
      const reply = isOver ? { status: 200, body } : { status: 200, headers: { "retry-after": "1" }, body };
      return asGiven(reply, callId, principal);
    },
  });
}

/** Of a call that runs and is not on record yet; what is on record goes before it. */
function sinceWhen(standing: CallStanding): Partial<ToolStatusResponse> {
  const { version, operation, startedAt, state } = runningFacts(standing);
  return defined({ tool_version: version, operation, started_at: isoIfAny(startedAt), state });
}

function resultRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "getInvocationResult",
    method: "GET",
    path: "/v1/invocations/{invocation_id}/result",
    tag: "Invocations",
    summary: "Get what came of a call",
    description: "The whole answer of tool.invoke, once there is one: 200 whether the call succeeded or not.",
    access: "caller",
    params: invocationParamsField,
    answers: {
      200: { description: "The call has ended; this is its answer.", schema: toolInvokeResponseField },
      202: {
        description: "The call is still open.",
        schema: toolInvokeResponseField,
        headers: { "Retry-After": "Seconds to wait before asking again." },
      },
    },
    handle: async ({ params, principal, origin }) => {
      const { callId, standing } = await visibleCall(params.invocation_id, principal, parts);
      const asked = { callId, origin, now: parts.clock.now() };
      const reply = "answer" in standing ? resultReply(standing.answer) : openReply(standing, asked);
      return asGiven(reply, callId, principal);
    },
  });
}

function listRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "listInvocations",
    method: "GET",
    path: "/v1/invocations",
    tag: "Invocations",
    summary: "List calls",
    description:
      "Newest first, by the time they were taken in; those that run are among them. An agent sees its own calls.",
    access: "caller",
    query: invocationListQueryField,
    answers: { 200: { description: "A page of calls.", schema: invocationListResponseField } },
    handle: async (asked) => ({ status: 200, body: await listCalls(asked, parts) }),
  });
}

async function listCalls(
  { query, principal, origin }: RouteRequest<undefined, InvocationListQuery, undefined>,
  parts: RouteContext,
): Promise<InvocationListResponse> {
  const owner = ownerFilter(query, sightOf(principal, parts));
  if (!owner) return { invocations: [] };
  const before = query.cursor === undefined ? undefined : await placeAt(query.cursor, principal, parts);
  const limit = Number(query.limit ?? 50);
  // First those that run: one that ends meanwhile is on record then, and the record counts.
  const running = runningOutlines(query, owner, parts);
  // One more than asked for, to know whether there is another page.
  const recorded = await outlines(
    { ...owner, ...whatFilter(query), ...defined({ before }), limit: limit + 1 },
    parts,
  );
  const ids = new Set(recorded.map(({ callId }) => callId));
  const found = running
    .filter((call) => !ids.has(call.callId) && (!before || byPlace(placeOf(call), before) > 0))
    .concat(recorded)
    .sort((first, second) => byPlace(placeOf(first), placeOf(second)));
  const idOf = (callId: string) => (principal.kind === "agent" ? givenId(callId) : callId);
  const page = found.slice(0, limit).map((record) => ({ ...record, callId: idOf(record.callId) }));
  const last = page.at(-1);
  return {
    invocations: page.map((record) => recordView(record, origin)),
    ...(found.length > limit && last && { next_cursor: CALL_CURSORS.encode(placeOf(last)) }),
  };
}

const placeOf = ({ startedAt: at, callId: id }: CallOutline): ListPlace => ({ at, id });

/** As the store lists them: the newest first. */
function byPlace(first: ListPlace, second: ListPlace): number {
  return second.at - first.at || byCodePoint(second.id, first.id);
}

/** An agent's cursor has the id that the agent gave, which can be another than the call is kept under. */
async function placeAt(cursor: string, principal: Principal, parts: RouteContext): Promise<ListPlace> {
  const { at, id } = CALL_CURSORS.read(cursor);
  return { at, id: (await findCall(id, principal, parts))?.callId ?? id };
}

/** The calls that run and are not on record yet. */
function runningOutlines(
  { tool, status }: InvocationListQuery,
  owner: Pick<CallFilter, "tenant" | "agent">,
  { engine }: RouteContext,
): CallOutline[] {
  if (status !== undefined && status !== "running") return [];
  const all = engine.running({ ...owner, ...defined({ tool }) });
  return all.filter(({ onRecord }) => !onRecord).map((call) => ({ ...call, phase: "executing" }));
}

async function outlines(filter: CallFilter, { calls }: RouteContext): Promise<CallOutline[]> {
  return calls.outlines ? await calls.outlines(filter) : (await calls.list(filter)).map(outlineOf);
}

/** Undefined when nothing that is asked for may be seen. */
function ownerFilter(
  { tenant, agent }: InvocationListQuery,
  sight: Sight,
): Pick<CallFilter, "tenant" | "agent"> | undefined {
  const asked = { ...(tenant !== undefined && { tenant }), ...(agent !== undefined && { agent }) };
  if (sight === "everything") return asked;
  const isOther = (tenant ?? sight.tenant) !== sight.tenant || (agent ?? sight.agent) !== sight.agent;
  return isOther ? undefined : sight;
}

function whatFilter({ tool, status }: InvocationListQuery): Partial<CallFilter> {
  return {
    ...(tool !== undefined && { tool }),
    ...(status !== undefined && stageFilter(status)),
  };
}

/** The answer that is on record. Reading it succeeds, whatever it says. */
function resultReply(answer: CallAnswer): Reply {
  return { status: 200, body: invokeResponse(answer) };
}

interface AskedFor {
  callId: string;
  origin: string;
  now: number;
}

/** There is no answer yet, or nobody knows it. */
function openReply(standing: CallStanding, { callId, origin, now }: AskedFor): Reply {
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
function runningFacts(standing: CallStanding): Partial<RunningFacts> {
  return ("now" in standing && standing.now) || {};
}

type RunningFacts = NonNullable<Extract<CallStanding, { now?: unknown }>["now"]>;

function unknownOutcome({ polling_info: _polling, ...rest }: ToolInvokeResponse): ToolInvokeResponse {
  return { ...rest, status: "error", error: toolError(failure("E3909")) };
}
