import { hash } from "node:crypto";
import {
  type Caller,
  canonicalJson,
  defined,
  type Failure,
  failure,
  type JsonValue,
  type Risk,
} from "@sallyport/protocol";
import { matchesAny } from "../match/patterns.ts";
import type {
  ApprovalCause,
  ApprovalLevel,
  ApprovalReader,
  ApprovalRecord,
  ApprovalStanding,
  ApprovalState,
} from "../ports/approvals.ts";
import type { Decision } from "../ports/authority.ts";

/*
 * The approval record: how a question is put, who may answer it, and every change it can go through, as pure functions
 * from a record to the next one. A change is written with the revision it was made on. Of two changes made at once the
 * store refuses one, which is made again on what the other left: nobody can spend an approval twice, and a denial that
 * came first stays.
 */

/** How questions are put. */
export interface ApprovalRules {
  levels: readonly ApprovalLevel[];
  /** How many different people have to agree. */
  quorum: number;
  /** How long an executor may take from its reservation to its intent. */
  leaseMs: number;
}

const HOUR_MS = 3_600_000;

/** Who is asked first, and who next when nobody answers: 1 h, 4 h, 24 h. After the last level the answer is no. */
export const DEFAULT_LEVELS: readonly ApprovalLevel[] = [
  { level: 1, approvers: ["*"], timeoutMs: HOUR_MS },
  { level: 2, approvers: ["*"], timeoutMs: 4 * HOUR_MS },
  { level: 3, approvers: ["*"], timeoutMs: 24 * HOUR_MS },
];

export const DEFAULT_RULES: ApprovalRules = { levels: DEFAULT_LEVELS, quorum: 1, leaseMs: 60_000 };

/** Everything an approval is an approval of. */
export interface Approved {
  tool: string;
  version: string;
  operation: string;
  /** Digest of the canonical arguments. */
  inputHash: string;
  manifestHash: string;
  policyVersion: string;
  caller: Caller;
  /** Digest of the changes that were shown, when the call was previewed. */
  shown?: string | undefined;
}

/** Identifies exactly this call: other arguments, another manifest, policy or caller give another digest. */
export function approvalDigest({ caller, shown, ...approved }: Approved): string {
  const { tool, version, operation, inputHash, manifestHash, policyVersion } = approved;
  const { tenant, agent, user = null, session = null } = caller;
  const call = { tool, version, operation, inputHash, manifestHash, policyVersion };
  return hash("sha256", canonicalJson({ ...call, tenant, agent, user, session, ...defined({ shown }) }));
}

export interface Question extends Approved {
  approvalId: string;
  callId: string;
  because: ApprovalCause;
  decision: Decision;
  risk: Risk;
  summary: string;
  /** Redacted. */
  input: JsonValue;
  /** What the call would change, redacted. */
  effects?: JsonValue | undefined;
  /** Which question about this call it is, from 1. */
  round: number;
  at: number;
}

const REASON: Partial<Record<ApprovalCause, string>> = {
  tool: "the tool always requires approval",
  caller: "the caller asked for approval",
};

/** Puts a question to the people of the first level. */
export function ask(question: Question, { levels, quorum }: ApprovalRules): ApprovalRecord {
  const { caller, decision, at, shown: _inDigest, effects, ...asked } = question;
  const { tenant, agent, user, session } = caller;
  const tier = question.because === "policy" ? decision.tier : undefined;
  return {
    ...asked,
    tenant,
    agent,
    ...defined({ user, session, tier, effects }),
    digest: approvalDigest(question),
    reason: REASON[question.because] ?? decision.reason,
    rules: decision.rules,
    levels: [...levels],
    quorum,
    votes: [],
    createdAt: at,
    expiresAt: levels.reduce((endsAt, { timeoutMs }) => endsAt + timeoutMs, at),
    standing: { state: "pending" },
    revision: 1,
  };
}

/** The level whose time it is. */
export function levelAt(record: ApprovalRecord, now: number): number {
  return presentLevel(record, now).level;
}

/** When the present level's time is over. */
export function levelEndsAt(record: ApprovalRecord, now: number): number {
  return presentLevel(record, now).endsAt;
}

function presentLevel({ levels, createdAt }: ApprovalRecord, now: number): { level: number; endsAt: number } {
  let present = { level: 1, endsAt: createdAt };
  for (const { level, timeoutMs } of levels) {
    present = { level, endsAt: present.endsAt + timeoutMs };
    if (now < present.endsAt) break;
  }
  return present;
}

/** Characters of a name that nobody sees: format and other ignorable characters, blanks, and white space. */
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800\ufffc]/gu;

/**
 * The person a name stands for, to compare with: names that differ only in case, in white space, in characters nobody
 * sees, or in how a character is composed are one person's. Look-alikes of other scripts stay different names.
 */
function personOf(name: string): string {
  // Unseen characters go first: one may part a letter from its accent. Lower case first: capital sharp s has no other.
  const seen = name.normalize("NFKC").replace(UNSEEN, "");
  return seen.toLowerCase().toUpperCase().toLowerCase().normalize("NFKC").replace(UNSEEN, "");
}

/** Whether a text can be a person's name: something of it can be seen, nothing moves a cursor or has no agreed form. */
function isName(name: unknown): name is string {
  return (
    typeof name === "string" &&
    name.isWellFormed() &&
    !/[\p{Cc}\p{Co}\p{Cn}]/u.test(name) &&
    personOf(name) !== ""
  );
}

/** Why somebody may not answer. Escalation adds people and removes nobody. An agent never answers for its own call. */
function mayNotAnswer(record: ApprovalRecord, by: string, now: number): Failure | undefined {
  if (!isName(by)) {
    const message =
      "An answer needs the name of the person who gives it: visible text without control characters.";
    return failure("E3226", { message });
  }
  if (personOf(by) === personOf(record.agent)) {
    return failure("E3226", { message: `${by} made this call and cannot answer for it.` });
  }
  const present = levelAt(record, now);
  const approvers = record.levels.flatMap(({ level, approvers }) => (level <= present ? approvers : []));
  if (matchesAny(approvers, by)) return undefined;
  return failure("E3226", {
    message: `${by} is not among the approvers of level ${present}.`,
    details: { level: present, approvers },
  });
}

/** The changed record, or why it cannot be changed so. */
export type ApprovalChange = ApprovalRecord | Failure;

interface Answer {
  by: string;
  at: number;
}

/** How an approval really stands: past its time it is expired, and a reservation past its own has fallen back. */
export function standingAt(record: ApprovalRecord, now: number): ApprovalStanding {
  const { standing } = record;
  if (isFinal(standing.state)) return standing;
  if (standing.state === "reserved") {
    return standing.until > now ? standing : standingAt(release(record, now), now);
  }
  return now >= record.expiresAt ? { state: "expired", at: record.expiresAt } : standing;
}

const FINAL: readonly ApprovalState[] = ["consumed", "denied", "expired", "withdrawn", "void"];

/** Whether nothing can change it any more. */
export function isFinal(state: ApprovalState): boolean {
  return FINAL.includes(state);
}

/** Whether a person has said yes and nothing has been run by it yet. */
export function isUnspent(standing: ApprovalStanding): boolean {
  return standing.state === "approved" || standing.state === "edited";
}

/** A yes. With enough different people's it is approved. */
export function approve(
  record: ApprovalRecord,
  { by, at, comment }: Answer & { comment?: string | undefined },
): ApprovalChange {
  const refused = mustBePending(record, at) ?? mayNotAnswer(record, by, at);
  if (refused) return refused;
  if (record.votes.some((vote) => personOf(vote.by) === personOf(by))) {
    return failure("E3222", {
      message: `${by} has approved ${record.approvalId} already; ${record.quorum} different people have to.`,
    });
  }
  const vote = { by, at, level: levelAt(record, at), digest: record.digest, ...(comment && { comment }) };
  const votes = [...record.votes, vote];
  const standing = enough(record, votes) ? yes(record, at) : record.standing;
  return next(record, { votes, standing });
}

/** A no, by one person; nobody overrules it. */
export function deny(
  record: ApprovalRecord,
  { by, at, reason }: Answer & { reason: string },
): ApprovalChange {
  const refused = mustBePending(record, at) ?? mayNotAnswer(record, by, at);
  return refused ?? next(record, { standing: { state: "denied", at, by, reason } });
}

/** What a change of the arguments changes in the record; the input is redacted. */
export type EditedQuestion = Pick<
  ApprovalRecord,
  "digest" | "inputHash" | "policyVersion" | "manifestHash" | "summary" | "input"
>;

/** A yes to other arguments. Earlier votes were about the old ones and do not count. */
export function edit(
  record: ApprovalRecord,
  { by, at, ...changed }: Answer & EditedQuestion,
): ApprovalChange {
  const refused = mustBePending(record, at) ?? mayNotAnswer(record, by, at);
  if (refused) return refused;
  const votes = [{ by, at, level: levelAt(record, at), digest: changed.digest }];
  const edited = { ...record, ...changed, editedBy: by };
  return next(edited, { votes, standing: enough(edited, votes) ? yes(edited, at) : record.standing });
}

/** Holds it for one executor that is about to run exactly what was approved. */
export function reserve(
  record: ApprovalRecord,
  { owner, at, leaseMs, digest }: { owner: string; at: number; leaseMs: number; digest: string },
): ApprovalChange {
  const standing = standingAt(record, at);
  if (!isUnspent(standing)) return settledAlready(record, standing);
  if (digest !== record.digest) return changedSince(record);
  return next(record, { standing: { state: "reserved", owner, until: at + leaseMs } });
}

/** Spends it, in the same unit of work as the intent to run. */
export function consume(
  record: ApprovalRecord,
  { owner, at }: { owner: string; at: number },
): ApprovalChange {
  const { standing } = record;
  if (standing.state !== "reserved" || standing.owner !== owner) return settledAlready(record, standing);
  return next(record, { standing: { state: "consumed", at } });
}

/** Gives a reservation back: nothing has run by it. */
export function release(record: ApprovalRecord, at: number): ApprovalRecord {
  if (record.standing.state !== "reserved") return record;
  return next(record, { standing: yes(record, at) });
}

/** The caller no longer wants the call. */
export function withdraw(
  record: ApprovalRecord,
  { at, reason }: { at: number; reason: string },
): ApprovalChange {
  return end(record, { state: "withdrawn", at, reason });
}

/** The call differs from what was approved, or must not run any more. */
export function voided(
  record: ApprovalRecord,
  { at, reason }: { at: number; reason: string },
): ApprovalChange {
  return end(record, { state: "void", at, reason });
}

/** Puts on record that nobody answered in time, or that a yes was not used in time. */
export function expire(record: ApprovalRecord, now: number): ApprovalChange {
  const standing = standingAt(record, now);
  if (standing.state === "expired" && record.standing.state !== "expired") return next(record, { standing });
  return settledAlready(record, standing);
}

/** How often a change is made again when somebody else has changed the record since it was read. */
const MAX_TRIES = 5;

/** Makes a change on the newest revision; again, while `change` says by undefined that somebody else was faster. */
export async function onNewest<Result>(
  approvalId: string,
  approvals: Pick<ApprovalReader, "get">,
  change: (record: ApprovalRecord) => Promise<Result | undefined>,
): Promise<Result | Failure> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const record = await approvals.get(approvalId);
    if (!record) return unknownApproval(approvalId);
    const changed = await change(record);
    if (changed !== undefined) return changed;
  }
  return failure("E3222", { message: `Approval ${approvalId} is being changed by others; look again.` });
}

export function unknownApproval(approvalId: string): Failure {
  return failure("E3221", { message: `There is no approval ${approvalId}.` });
}

function end(record: ApprovalRecord, standing: ApprovalStanding & { at: number }): ApprovalChange {
  const present = standingAt(record, standing.at);
  return isFinal(present.state) ? settledAlready(record, present) : next(record, { standing });
}

function changedSince({ approvalId }: ApprovalRecord): Failure {
  return failure("E3216", {
    message: `Approval ${approvalId} is for other arguments, another tool version, policy or caller than this call has now.`,
    details: { approvalId },
  });
}

function mustBePending(record: ApprovalRecord, now: number): Failure | undefined {
  const standing = standingAt(record, now);
  return standing.state === "pending" ? undefined : settledAlready(record, standing);
}

function settledAlready({ approvalId, callId }: ApprovalRecord, standing: ApprovalStanding): Failure {
  const { state } = standing;
  return failure("E3222", {
    message: `Approval ${approvalId} is ${state}.`,
    details: { approvalId, state },
    ...(isUnspent(standing) && { advice: `Run the call by it: \`sallyport calls resume ${callId}\`.` }),
  });
}

function enough({ quorum, digest }: ApprovalRecord, votes: ApprovalRecord["votes"]): boolean {
  return new Set(votes.filter((vote) => vote.digest === digest).map(({ by }) => personOf(by))).size >= quorum;
}

function yes({ editedBy }: ApprovalRecord, at: number): ApprovalStanding {
  return editedBy === undefined ? { state: "approved", at } : { state: "edited", at };
}

function next(record: ApprovalRecord, change: Partial<ApprovalRecord>): ApprovalRecord {
  return { ...record, ...change, revision: record.revision + 1 };
}
