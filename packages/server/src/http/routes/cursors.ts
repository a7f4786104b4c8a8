import { SallyportError } from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import { malformed } from "./malformed.ts";
import type { DoorParts } from "./parts.ts";
import { seesCall } from "./visible-call.ts";

/**
 * Cursors are the ids of rows. One that the asker may not see is refused like one that never was: a page from there on
 * would say when somebody else's row was made.
 */

/** Throws E3903 when the cursor is no call that the asker may see; no cursor is the first page. */
export async function checkCallCursor(
  cursor: string | undefined,
  principal: Principal,
  parts: DoorParts,
): Promise<void> {
  if (cursor === undefined) return;
  const standing = await parts.engine.standing(cursor);
  if (!standing || !seesCall(principal, standing, parts)) throw notGiven();
}

/** The same for a list of approvals, which only operators may read. */
export async function checkApprovalCursor(cursor: string | undefined, { engine }: DoorParts): Promise<void> {
  if (cursor !== undefined && !(await engine.approvals.get(cursor))) throw notGiven();
}

function notGiven(): SallyportError {
  const suggestion = "Send next_cursor as it came, or begin anew without a cursor.";
  return new SallyportError(malformed("query/cursor", "is not a cursor that this list gave", suggestion));
}
