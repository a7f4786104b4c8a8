import type { CallStanding } from "@sallyport/engine";
import { givenId, tenantId } from "@sallyport/engine/host";
import { failure, SallyportError } from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import type { Reply } from "../route.ts";
import type { RouteContext } from "./parts.ts";

/** Whose calls the asker may see: everybody's, or one agent's. */
export type Sight = "everything" | { tenant: string; agent: string };

/** An agent sees its own calls alone; operators, and whoever reaches an open door, see all. */
export function sightOf(principal: Principal, { callers }: RouteContext): Sight {
  if (principal.kind === "agent") return { tenant: principal.claims.tenant, agent: principal.claims.agent };
  if (principal.kind === "operator" || (principal.kind === "anyone" && callers === "open"))
    return "everything";
  throw new SallyportError(failure(principal.kind === "anyone" ? "E3938" : "E3940"));
}

/** A call, and the id it is kept under, which is another than it was given where another tenant has that one. */
export interface VisibleCall {
  callId: string;
  standing: CallStanding;
}

/** How a call stands, for somebody who may see it. Another's call is as unknown as one that never was (E3917). */
export async function visibleCall(
  given: string,
  principal: Principal,
  parts: RouteContext,
): Promise<VisibleCall> {
  const found = await findCall(given, principal, parts);
  if (found) return found;
  throw new SallyportError(failure("E3917", { message: `There is no call ${given.slice(0, 128)}.` }));
}

/** The call that the asker means by an id; undefined when there is none that it may see. */
export async function findCall(
  given: string,
  principal: Principal,
  parts: RouteContext,
): Promise<VisibleCall | undefined> {
  const sight = sightOf(principal, parts);
  // An agent that could ask for its call's second id would learn whether another tenant has the first.
  if (sight !== "everything" && givenId(given) !== given) return undefined;
  const own = sight === "everything" ? [] : [tenantId(given, sight.tenant)];
  for (const callId of [given, ...own]) {
    const standing = await parts.engine.standing(callId);
    if (standing && sees(sight, standing.of)) return { callId, standing };
  }
  return undefined;
}

/** An agent's answer names its call by the id it gave, so that it does not learn that another tenant has it too. */
export function asGiven(reply: Reply, callId: string, principal: Principal): Reply {
  const given = givenId(callId);
  if (principal.kind !== "agent" || given === callId) return reply;
  return JSON.parse(JSON.stringify(reply).replaceAll(callId, given)) as Reply;
}

function sees(sight: Sight, of: { tenant: string; agent: string }): boolean {
  return sight === "everything" || (sight.tenant === of.tenant && sight.agent === of.agent);
}
