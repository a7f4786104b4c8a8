import { isFinal, levelAt, mintApprovalToken } from "@sallyport/engine/host";
import type { ApprovalRecord } from "@sallyport/engine/ports";
import {
  type ApprovalTokenRequest,
  type ApprovalTokenResponse,
  approvalParamsField,
  approvalTokenRequestField,
  approvalTokenResponseField,
  failure,
  SallyportError,
} from "@sallyport/protocol";
import { must } from "../../must.ts";
import { defineRoute, type Route } from "../route.ts";
import { visibleApproval } from "./approvals.ts";
import { iso } from "./iso-time.ts";
import { malformed } from "./malformed.ts";
import type { RouteContext } from "./parts.ts";

/** `POST /v1/approvals/{id}/tokens`: lets one person answer one approval without being an operator. */
export function approvalTokenRoutes(parts: RouteContext): Route[] {
  return [
    defineRoute({
      id: "createApprovalToken",
      method: "POST",
      path: "/v1/approvals/{approval_id}/tokens",
      tag: "Approvals",
      summary: "Make a token for an approver",
      description: "It answers for this approval alone, at one level, until it expires.",
      access: "operator",
      params: approvalParamsField,
      body: approvalTokenRequestField,
      answers: { 201: { description: "The token.", schema: approvalTokenResponseField } },
      handle: async ({ params, body, principal }) => {
        const record = await visibleApproval(params.approval_id, principal, parts);
        return { status: 201, headers: { "cache-control": "no-store" }, body: tokenFor(record, body, parts) };
      },
    }),
  ];
}

function tokenFor(
  record: ApprovalRecord,
  asked: ApprovalTokenRequest,
  parts: RouteContext,
): ApprovalTokenResponse {
  const { approvalId, callId, tool, standing } = record;
  if (isFinal(standing.state)) {
    throw new SallyportError(failure("E3222", { message: `Approval ${approvalId} is ${standing.state}.` }));
  }
  const issuedAt = parts.clock.now();
  const level = levelOf(record, asked, issuedAt);
  const wanted = asked.expires_in_seconds ? issuedAt + asked.expires_in_seconds * 1_000 : record.expiresAt;
  const expiresAt = Math.min(wanted, record.expiresAt);
  const pass = { approvalId, callId, tool, approver: asked.approver, level, expiresAt, issuedAt };
  const token = mintApprovalToken(pass, must(parts.approvalKey()));
  const expires_at = iso(Math.floor(expiresAt / 1_000) * 1_000);
  return { token, approval_id: approvalId, approver: asked.approver, level, expires_at };
}

function levelOf(record: ApprovalRecord, { level }: ApprovalTokenRequest, now: number): number {
  const wanted = level ?? levelAt(record, now);
  if (record.levels.some((one) => one.level === wanted)) return wanted;
  const known = record.levels.map((one) => one.level).join(", ");
  throw new SallyportError(malformed("/level", `must be one of ${known}`));
}
