import { hash } from "node:crypto";
import type { ApprovalPass } from "@sallyport/engine/host";
import type { ApprovalRecord } from "@sallyport/engine/ports";
import { hostOf } from "./webhook-log.ts";

/** How a notice is written. */
export interface NoticeStyle {
  /** Where people reach this server, such as `https://sallyport.example`. */
  publicUrl: string;
  /** Signs the pass of one approver. Left out: notices carry links only. */
  mint?: (pass: ApprovalPass) => string;
}

/** One level of one approval, to be told at one channel. */
export interface Notice {
  approvalId: string;
  level: number;
  url: string;
}

/** A channel that is told by a signed POST; what other channels mean is for others to know. */
export function isWebChannel(channel: string): boolean {
  return /^https?:\/\//i.test(channel);
}

const CHANNEL_CHARS = 8;

/**
 * The same for every try and after every restart: receivers drop what they have by it. Each channel has its own, because
 * one receiver may stand behind two of them.
 */
export function noticeId({ approvalId, level, url }: Notice): string {
  const channel = hash("sha256", url).slice(0, CHANNEL_CHARS);
  return `${approvalId}-${level}-${channel}`.replaceAll(".", "~");
}

/** What the people at a channel are told, as JSON. The passes are good until the approval ends: nobody asked is un-asked. */
export function noticeBody(record: ApprovalRecord, { level, url }: Notice, style: NoticeStyle): string {
  const { approvalId } = record;
  const base = `${style.publicUrl.replace(/\/+$/, "")}/v1/approvals/${encodeURIComponent(approvalId)}`;
  return JSON.stringify({
    type: "approval.requested",
    timestamp: iso(record.createdAt),
    approval_id: approvalId,
    invocation_id: record.callId,
    tool_id: record.tool,
    tool_version: record.version,
    operation: record.operation,
    tenant_id: record.tenant,
    agent_did: record.agent,
    summary: record.summary,
    reason: record.reason,
    risk: record.risk,
    digest: record.digest,
    level,
    level_ends_at: iso(levelEnd(record, level)),
    expires_at: iso(record.expiresAt),
    approve_url: `${base}:approve`,
    deny_url: `${base}:deny`,
    ...passes(record, { level, url }, style),
  });
}

/** One pass for the one person it can be for, or one for each who is named. */
function passes(
  record: ApprovalRecord,
  { level, url }: Pick<Notice, "level" | "url">,
  { mint }: NoticeStyle,
) {
  if (!mint) return {};
  const { approvalId, callId, tool, expiresAt } = record;
  const tokens = approversAt(record, { level, url }).map((approver) => ({
    approver,
    token: mint({ approvalId, callId, tool, approver, level, expiresAt }),
  }));
  const [only, ...others] = tokens;
  return only && others.length === 0 ? only : tokens.length > 0 ? { tokens } : {};
}

/**
 * Those a pass can be for: the people the level names, or, where it takes anybody's word, whoever reads this channel.
 * Of a pattern such as `team-*` nobody can be told by name; they answer as themselves at the links.
 */
function approversAt(
  { levels, agent }: ApprovalRecord,
  { level, url }: Pick<Notice, "level" | "url">,
): string[] {
  const { approvers = [] } = levels.find((each) => each.level === level) ?? {};
  if (approvers.includes("*")) return [`channel:${hostOf(url)}`];
  return approvers.filter((name) => !name.includes("*") && name !== agent);
}

/** When the next level is asked besides. */
function levelEnd({ levels, createdAt }: ApprovalRecord, level: number): number {
  const asked = levels.filter((each) => each.level <= level);
  return asked.reduce((at, { timeoutMs }) => at + timeoutMs, createdAt);
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
