import type { ApprovalFilter, ApprovalRecord, ApprovalState } from "@sallyport/engine/ports";
import {
  type ApprovalListQuery,
  type ApprovalListResponse,
  approvalField,
  approvalListQueryField,
  approvalListResponseField,
  approvalParamsField,
  failure,
  SallyportError,
} from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import { defineRoute, type Route } from "../route.ts";
import { approvalView } from "./approval-views.ts";
import { APPROVAL_CURSORS } from "./cursors.ts";
import type { RouteContext } from "./parts.ts";

/** Which approval an address names. */
export interface ApprovalParams {
  approval_id: string;
}

const OPEN: ApprovalState[] = ["pending", "approved", "edited", "reserved"];

/** `GET /v1/approvals…`: the questions to people. */
export function approvalRoutes(parts: RouteContext): Route[] {
  return [listRoute(parts), showRoute(parts)];
}

function listRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "listApprovals",
    method: "GET",
    path: "/v1/approvals",
    tag: "Approvals",
    summary: "List approvals",
    description: "Newest first; those that are not settled yet, unless a state is asked for.",
    access: "operator",
    query: approvalListQueryField,
    answers: { 200: { description: "A page of approvals.", schema: approvalListResponseField } },
    handle: async ({ query }) => ({ status: 200, body: await listApprovals(query, parts) }),
  });
}

async function listApprovals(query: ApprovalListQuery, parts: RouteContext): Promise<ApprovalListResponse> {
  const limit = Number(query.limit ?? 50);
  const { state = "open" } = query;
  const found: ApprovalRecord[] = [];
  for (let filter = { ...filterOf(query), limit: limit + 1 }; found.length <= limit; ) {
    const page = await parts.engine.approvals.list(filter);
    // What has expired since it was written is found under the state it had.
    found.push(...page.filter(({ standing }) => statesOf(state).includes(standing.state)));
    const last = page.at(-1);
    if (!last || page.length <= limit) break;
    filter = { ...filter, before: placeOf(last) };
  }
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  const now = parts.clock.now();
  return {
    approvals: shown.map((record) => approvalView(record, now)),
    ...(found.length > limit && last && { next_cursor: APPROVAL_CURSORS.encode(placeOf(last)) }),
  };
}

function filterOf({ state = "open", tenant, cursor }: ApprovalListQuery): Omit<ApprovalFilter, "limit"> {
  return {
    states: state === "expired" ? [...OPEN, "expired"] : statesOf(state),
    ...(tenant !== undefined && { tenant }),
    ...(cursor !== undefined && { before: APPROVAL_CURSORS.read(cursor) }),
  };
}

const placeOf = ({ createdAt: at, approvalId: id }: ApprovalRecord) => ({ at, id });

function statesOf(state: NonNullable<ApprovalListQuery["state"]>): ApprovalState[] {
  return state === "open" ? OPEN : [state];
}

function showRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "getApproval",
    method: "GET",
    path: "/v1/approvals/{approval_id}",
    tag: "Approvals",
    summary: "Show one approval",
    access: "approver",
    params: approvalParamsField,
    answers: { 200: { description: "The approval.", schema: approvalField } },
    handle: async ({ params, principal }) => {
      const record = await visibleApproval(params.approval_id, principal, parts);
      return { status: 200, body: approvalView(record, parts.clock.now()) };
    },
  });
}

/** The approval, for an operator or the one person whose token is for it; unknown to everybody else (E3221). */
export async function visibleApproval(
  approvalId: string,
  principal: Principal,
  parts: RouteContext,
): Promise<ApprovalRecord> {
  const maySee =
    principal.kind === "operator" ||
    (principal.kind === "approver" && principal.pass.approvalId === approvalId);
  const record = maySee ? await parts.engine.approvals.get(approvalId) : undefined;
  if (record) return record;
  const message = `There is no approval ${approvalId.slice(0, 128)}.`;
  throw new SallyportError(
    failure("E3221", { message, advice: "List them at /v1/approvals to find the id." }),
  );
}
