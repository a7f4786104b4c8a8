import type { AlwaysAllow } from "@sallyport/engine";
import { levelAt } from "@sallyport/engine/host";
import type { ApprovalRecord } from "@sallyport/engine/ports";
import {
  type AlwaysMessage,
  approvalField,
  approvalParamsField,
  approveRequestField,
  defined,
  denyRequestField,
  editRequestField,
  type Failure,
  failure,
  SallyportError,
} from "@sallyport/protocol";
import { must } from "../../must.ts";
import type { Principal } from "../principal.ts";
import { defineRoute, type Reply, type Route, type RouteRequest } from "../route.ts";
import { approvalView } from "./approval-views.ts";
import { type ApprovalParams, visibleApproval } from "./approvals.ts";
import type { RouteContext } from "./parts.ts";

const ANSWERED = { 200: { description: "The approval as it stands now.", schema: approvalField } };

/** `POST /v1/approvals/{id}:…`: what people say to the questions. */
export function approvalAnswerRoutes(parts: RouteContext): Route[] {
  return [approveRoute(parts), denyRoute(parts), editRoute(parts)];
}

function approveRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "approve",
    method: "POST",
    path: "/v1/approvals/{approval_id}:approve",
    tag: "Approvals",
    summary: "Say yes to exactly this call",
    description:
      "With `always`, which takes an operator, also to calls like it from now on. A call of this door then goes on by itself.",
    access: "approver",
    params: approvalParamsField,
    body: approveRequestField,
    answers: ANSWERED,
    handle: (asked) =>
      answered(asked, parts, (approvalId, by) => {
        const { comment, digest, always } = asked.body ?? {};
        const given = always && alwaysOf(always, asked.principal, parts);
        const answer = { by, ...defined({ comment, digest, always: given }) };
        return parts.engine.approvals.approve(approvalId, answer);
      }),
  });
}

function denyRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "deny",
    method: "POST",
    path: "/v1/approvals/{approval_id}:deny",
    tag: "Approvals",
    summary: "Say no",
    description: "The call is denied at once, and its caller told the reason.",
    access: "approver",
    params: approvalParamsField,
    body: denyRequestField,
    answers: ANSWERED,
    handle: (asked) =>
      answered(asked, parts, (approvalId, by) =>
        parts.engine.approvals.deny(approvalId, { by, reason: asked.body.reason }),
      ),
  });
}

function editRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "editApproval",
    method: "POST",
    path: "/v1/approvals/{approval_id}:edit",
    tag: "Approvals",
    summary: "Say yes to other arguments",
    description: "They are checked and authorised like any others first; others who agree have to see them.",
    access: "approver",
    params: approvalParamsField,
    body: editRequestField,
    answers: ANSWERED,
    handle: (asked) =>
      answered(asked, parts, (approvalId, by) => {
        const { input, digest } = asked.body;
        return parts.engine.approvals.edit(approvalId, { by, input, ...defined({ digest }) });
      }),
  });
}

async function answered(
  { params, principal }: RouteRequest<ApprovalParams>,
  parts: RouteContext,
  answer: (approvalId: string, by: string) => Promise<ApprovalRecord | Failure>,
): Promise<Reply> {
  const record = await visibleApproval(params.approval_id, principal, parts);
  const by = answererOf(principal, record, parts.clock.now());
  const after = must(await answer(params.approval_id, by));
  return { status: 200, body: approvalView(after, parts.clock.now()) };
}

/** Whose answer it is. A token for a later level does not count before that level is asked. */
function answererOf(principal: Principal, record: ApprovalRecord, now: number): string {
  if (principal.kind === "operator") return principal.name;
  if (principal.kind !== "approver") throw new SallyportError(failure("E3940"));
  const { approver, level } = principal.pass;
  const present = levelAt(record, now);
  if (level <= present) return approver;
  const message = `This token is for level ${level}; level ${present} is asked now.`;
  throw new SallyportError(failure("E3226", { message }));
}

/** A token for one approval is no word about other calls. */
function alwaysOf(always: AlwaysMessage, principal: Principal, parts: RouteContext): AlwaysAllow {
  if (principal.kind !== "operator") {
    const message = "Only an operator can allow calls from now on; this token is for one approval.";
    throw new SallyportError(failure("E3226", { message, advice: "Approve this one call, without always." }));
  }
  const seconds = always.expires_in_seconds;
  return {
    arguments: always.arguments,
    agent: always.agent ?? "this",
    // To say any here is to mean it.
    ...(always.arguments === "any" && { anyArguments: true }),
    tier: parts.grantTier,
    ...defined({
      session: always.session,
      versions: always.versions,
      until: seconds ? parts.clock.now() + seconds * 1_000 : undefined,
    }),
  };
}
