import type { CallStanding } from "@sallyport/engine";
import { failure, SallyportError } from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import type { DoorParts } from "./parts.ts";

/** Whose calls the asker may see: everybody's, or one agent's. */
export type Sight = "everything" | { tenant: string; agent: string };

/** An agent sees its own calls alone; operators, and whoever reaches an open door, see all. */
export function sightOf(principal: Principal, { callers }: DoorParts): Sight {
  if (principal.kind === "agent") return { tenant: principal.claims.tenant, agent: principal.claims.agent };
  if (principal.kind === "operator" || (principal.kind === "anyone" && callers === "open"))
    return "everything";
  throw new SallyportError(failure(principal.kind === "anyone" ? "E3938" : "E3940"));
}

/** How a call stands, for somebody who may see it. Another's call is as unknown as one that never was (E3917). */
export async function visibleCall(
  callId: string,
  principal: Principal,
  parts: DoorParts,
): Promise<CallStanding> {
  const sight = sightOf(principal, parts);
  const standing = await parts.engine.standing(callId);
  if (standing && sees(sight, standing.of)) return standing;
  throw new SallyportError(failure("E3917", { message: `There is no call ${callId.slice(0, 128)}.` }));
}

/** Whether the asker may know of a call. */
export function seesCall(principal: Principal, { of }: CallStanding, parts: DoorParts): boolean {
  return sees(sightOf(principal, parts), of);
}

function sees(sight: Sight, of: { tenant: string; agent: string }): boolean {
  return sight === "everything" || (sight.tenant === of.tenant && sight.agent === of.agent);
}
