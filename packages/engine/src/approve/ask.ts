import type { Caller, JsonValue, Risk } from "@sallyport/protocol";
import type { ApprovalCause, ApprovalLevel, ApprovalRecord } from "../ports/approvals.ts";
import type { Decision } from "../ports/authority.ts";
import { type Approved, approvalDigest } from "./digest.ts";
import { DEFAULT_LEVELS, patienceMs } from "./levels.ts";

/** How questions are put. */
export interface ApprovalRules {
  levels: readonly ApprovalLevel[];
  /** How many different people have to agree. */
  quorum: number;
  /** How long an executor may take from its reservation to its intent. */
  leaseMs: number;
}

export const DEFAULT_RULES: ApprovalRules = { levels: DEFAULT_LEVELS, quorum: 1, leaseMs: 60_000 };

export interface Question extends Approved {
  approvalId: string;
  callId: string;
  caller: Caller;
  because: ApprovalCause;
  decision: Decision;
  risk: Risk;
  summary: string;
  /** Redacted. */
  input: JsonValue;
  /** What the call would change, redacted. */
  effects?: JsonValue;
  /** Which question about this call it is; the first when left out. */
  round?: number;
  at: number;
}

/** Puts a question to the people of the first level. */
export function ask(question: Question, { levels, quorum }: ApprovalRules): ApprovalRecord {
  const { caller, decision, at } = question;
  return {
    approvalId: question.approvalId,
    callId: question.callId,
    tenant: caller.tenant,
    agent: caller.agent,
    ...(caller.user !== undefined && { user: caller.user }),
    ...(caller.session !== undefined && { session: caller.session }),
    tool: question.tool,
    version: question.version,
    operation: question.operation,
    digest: approvalDigest(question),
    inputHash: question.inputHash,
    manifestHash: question.manifestHash,
    policyVersion: question.policyVersion,
    because: question.because,
    ...(question.because === "policy" && decision.tier && { tier: decision.tier }),
    reason: REASON[question.because] ?? decision.reason,
    rules: decision.rules,
    summary: question.summary,
    risk: question.risk,
    input: question.input,
    ...(question.effects !== undefined && { effects: question.effects }),
    levels: [...levels],
    round: question.round ?? 1,
    quorum,
    votes: [],
    createdAt: at,
    expiresAt: at + patienceMs(levels),
    standing: { state: "pending" },
    revision: 1,
  };
}

const REASON: Partial<Record<ApprovalCause, string>> = {
  tool: "the tool always requires approval",
  caller: "the caller asked for approval",
};
