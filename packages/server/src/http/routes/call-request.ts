import type { CallRequest } from "@sallyport/engine";
import type { TraceContext } from "@sallyport/engine/ports";
import { type Caller, type CallOrder, failure, SallyportError } from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import type { RouteRequest } from "../route.ts";
import { malformed } from "./malformed.ts";
import type { RouteContext } from "./parts.ts";

const MAX_KEY = 255;

/** The request's key, from its header or its body; refused when the two differ, because one of them is not meant. */
function idempotencyKeyOf(header: string | undefined, inBody: string | undefined): string | undefined {
  const sent = header === undefined ? undefined : unquoted(header.trim());
  if (sent !== undefined && (sent === "" || sent.length > MAX_KEY)) {
    throw new SallyportError(malformed("header/idempotency-key", `must have 1 to ${MAX_KEY} characters`));
  }
  if (sent === undefined || inBody === undefined || sent === inBody) return sent ?? inBody;
  const reason = "differs from execution_options.idempotency_key";
  throw new SallyportError(
    malformed("header/idempotency-key", reason, "Send one of them, or both the same."),
  );
}

/** Some clients write it as a structured string, in quotation marks. */
function unquoted(text: string): string {
  return /^"[^"\\]*"$/.test(text) ? text.slice(1, -1) : text;
}

type From = Pick<RouteRequest, "principal" | "headers" | "signal"> & {
  /** Where the sender's dialect has what may be wrong; tool.invoke's own places when left out. */
  places?: CallPlaces;
};

/** What a refusal says of a token in a body, in the words of the message that has it. */
export interface CallPlaces {
  token: string;
  /** Said when nobody can tell whose token it is. */
  unnamed: { place: string; reason: string };
}

const INVOKE_PLACES: CallPlaces = {
  token: "/capability_token",
  unnamed: { place: "/agent_context", reason: "is missing; must say whose token it is" },
};

/**
 * The call that an order stands for, once the door knows who asks. An agent that shows a token calls as the one the token
 * names unless it says otherwise, and then the engine compares; what is claimed is believed only at an open door.
 */
export function callRequestOf(order: CallOrder, asked: From, parts: RouteContext): CallRequest {
  const placed: Placed = { principal: asked.principal, places: asked.places ?? INVOKE_PLACES };
  const token = tokenOf(order, placed, parts);
  const idempotencyKey = idempotencyKeyOf(asked.headers["idempotency-key"], order.idempotencyKey);
  const trace = traceOf(asked.headers);
  return {
    ...order,
    caller: callerOf(order, placed, parts),
    // The answer of a call with a key can be fetched later; nobody ever sees that of one without.
    ...(idempotencyKey === undefined ? { signal: asked.signal } : { idempotencyKey }),
    ...(token !== undefined && { token }),
    ...(trace && { trace }),
    // Whoever reaches an open door is believed to be the agent it says, of a tenant that some grant knows.
    ...(asked.principal.kind === "anyone" && { selfNamed: true }),
    ...(mayKnowAll(asked.principal, parts) && { disclosure: "full" }),
    onApproval: "pending",
    unattended: true,
  };
}

/** Operators run the server, and an open door has nothing to hide from whoever can reach it. */
export function mayKnowAll({ kind }: Principal, { callers }: RouteContext): boolean {
  return kind === "operator" || (kind === "anyone" && callers === "open");
}

type Placed = Pick<From, "principal"> & { places: CallPlaces };

function tokenOf(
  { token }: CallOrder,
  { principal, places }: Placed,
  parts: RouteContext,
): string | undefined {
  const shown = principal.kind === "agent" ? principal.token : undefined;
  if (shown !== undefined && token !== undefined && shown !== token) {
    const reason = "is another token than the one in the Authorization header";
    throw new SallyportError(malformed(places.token, reason, "Send one of them."));
  }
  const known = shown ?? token;
  if (known === undefined && parts.callers === "token" && principal.kind !== "operator") {
    throw new SallyportError(failure("E3938", { message: "A call needs a capability token here." }));
  }
  return known;
}

function callerOf(order: CallOrder, { principal, places }: Placed, parts: RouteContext): Caller {
  const known = principal.kind === "agent" ? namedIn(principal) : fallback(order, places, parts);
  const { tenant = known.tenant, agent = known.agent, user, session } = order.caller;
  return {
    tenant,
    agent,
    ...(user !== undefined && { user }),
    ...(session !== undefined && { session }),
  };
}

function namedIn({ claims }: Extract<Principal, { kind: "agent" }>): Caller {
  return { tenant: claims.tenant, agent: claims.agent };
}

/** A token in the body says who calls only once the engine has read it, so that the request has to say it itself. */
function fallback({ token, caller }: CallOrder, { unnamed }: CallPlaces, parts: RouteContext): Caller {
  const isUnnamed = caller.tenant === undefined || caller.agent === undefined;
  if (token !== undefined && isUnnamed) {
    const suggestion = "Or send the token in the Authorization header.";
    throw new SallyportError(malformed(unnamed.place, unnamed.reason, suggestion));
  }
  return parts.caller;
}

/** The door hands on what holds, and nothing else. */
function traceOf(headers: RouteRequest["headers"]): TraceContext | undefined {
  const { traceparent, tracestate } = headers;
  if (traceparent === undefined) return undefined;
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}
