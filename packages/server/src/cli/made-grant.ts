import type { StandingGrant } from "@sallyport/engine/ports";
import type { EngineAccess } from "../desk/index.ts";
import type { Output } from "./io.ts";

/** The standing grant that came from an answer; undefined when none did. */
export async function madeGrant(desk: EngineAccess, approvalId: string): Promise<StandingGrant | undefined> {
  for (const grant of await desk.grants.list()) {
    if (grant.kind === "standing" && grant.approvalId === approvalId) return grant;
  }
  return undefined;
}

/** Says that a grant was made, and how to be rid of it. */
export function tellGrant({ grantId, expiresAt }: StandingGrant, output: Output): void {
  const until = expiresAt === undefined ? "with no end" : `until ${new Date(expiresAt).toISOString()}`;
  output.note(`Always allowed from now on, ${until}: grant ${grantId} (sallyport grants revoke ${grantId})`);
}
