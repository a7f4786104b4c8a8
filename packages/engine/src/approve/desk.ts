import { type Failure, failure } from "@sallyport/protocol";
import type { AuthorityRequest, Decision } from "../ports/authority.ts";

/** Why a person has to be asked. */
export interface ApprovalNeed {
  request: AuthorityRequest;
  decision: Decision;
  because: "policy" | "tool" | "caller";
}

export type ApprovalVerdict = { approved: true; approvalId: string } | { approved: false; error: Failure };

/** Where a person is asked. Silence, or a rejection, is a no. */
export interface ApprovalDesk {
  ask(need: ApprovalNeed): Promise<ApprovalVerdict>;
}

const BECAUSE: Record<ApprovalNeed["because"], string> = {
  policy: "the policy asks for it",
  tool: "the tool always requires it",
  caller: "the caller asked for it",
};

/** Nobody is there to ask: a call that needs approval does not run. */
export const noDesk: ApprovalDesk = {
  async ask({ request, because }) {
    const message = `${request.tool} ${request.operation} needs approval (${BECAUSE[because]}) and nobody can be asked here.`;
    return { approved: false, error: failure("E3211", { message, details: { because } }) };
  },
};
