import { type Failure, failure, isFailure } from "@sallyport/protocol";
import { decodeOrder } from "../approve/order.ts";
import { grantEventBody } from "../audit/grant-event.ts";
import { signGrant } from "../authorise/capability/index.ts";
import { draftStanding, type StandingChoice, standingIssues } from "../authorise/standing/index.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { StandingGrant } from "../ports/grants.ts";
import type { House } from "./house.ts";

/** How far an "always" reaches; who says it is known from the answer. */
export type AlwaysAllow = Omit<StandingChoice, "by">;

/** A standing grant that is signed and not kept yet, and the event that it was given. */
export interface PreparedGrant {
  record: StandingGrant;
  event: string;
}

/** Makes a grant of a person's "always". Refused where no grant could answer: only a policy's question can be. */
export async function alwaysAllow(
  approval: ApprovalRecord,
  choice: StandingChoice,
  house: House,
): Promise<PreparedGrant | Failure> {
  const { signer, clock, ids, store } = house;
  if (!signer) return failure("E3227", { message: "There is no key to sign a grant with." });
  if (approval.because !== "policy") return onlyPolicy(approval);
  if (approval.quorum > 1) return notAlone(approval);
  const order = await store.approvals.order(approval.approvalId);
  if (order === undefined)
    return failure("E3222", { message: `Approval ${approval.approvalId} is settled.` });
  const draft = draftStanding(approval, decodeOrder(order).input, choice);
  if (isFailure(draft)) return draft;
  const now = clock.now();
  const issues = standingIssues(draft, now);
  if (issues.length > 0) return failure("E3220", { message: "This cannot be allowed beforehand.", issues });
  const fixed = { grantId: ids.next(), issuedAt: now, uses: 0, revision: 1 };
  const record = signGrant({ ...draft, ...fixed }, signer);
  const event = grantEventBody("GRANT_ISSUED", record, { eventId: ids.next(), timestamp: now });
  return { record, event };
}

function onlyPolicy({ because, tool }: ApprovalRecord): Failure {
  const why =
    because === "tool" ? `${tool} requires approval of every call` : "the caller asked for approval itself";
  return failure("E3220", {
    message: `No standing grant can answer for this: ${why}.`,
    advice: "Approve this one call, without always.",
  });
}

/** What several people have to agree to each time, one person cannot allow for good. */
function notAlone({ quorum }: ApprovalRecord): Failure {
  return failure("E3220", {
    message: `No standing grant can answer for this: ${quorum} different people have to agree to each call.`,
    advice: "Approve this one call, without always.",
  });
}
