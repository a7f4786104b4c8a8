import { SallyportError } from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import { malformed } from "./malformed.ts";
import type { RouteContext } from "./parts.ts";
import { findCall } from "./visible-call.ts";

/**
 * Cursors are the ids of rows. One that the asker may not see is refused like one that never was: a page from there on
 * would say when somebody else's row was made.
 */

/** The id of the call a page begins after; undefined: the first page. Throws E3903 when the asker may not see that call. */
export async function readCallCursor(
  cursor: string | undefined,
  principal: Principal,
  parts: RouteContext,
): Promise<string | undefined> {
  if (cursor === undefined) return undefined;
  const found = await findCall(cursor, principal, parts);
  if (!found) throw notGiven();
  return found.callId;
}

/** The same for a list of approvals, which only operators may read. */
export async function checkApprovalCursor(
  cursor: string | undefined,
  { engine }: RouteContext,
): Promise<void> {
  if (cursor !== undefined && !(await engine.approvals.get(cursor))) throw notGiven();
}

function notGiven(): SallyportError {
  const suggestion = "Send next_cursor as it came, or begin anew without a cursor.";
  return new SallyportError(malformed("query/cursor", "is not a cursor that this list gave", suggestion));
}
