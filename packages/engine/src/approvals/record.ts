import { hash } from "node:crypto";
import { canonicalJson, defined, type Failure, failure, type JsonValue } from "@sallyport/protocol";
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
import type { CallIdentity } from "../ports/calls.ts";

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
const DEFAULT_LEVELS: readonly ApprovalLevel[] = [
  { level: 1, approvers: ["*"], timeoutMs: HOUR_MS },
  { level: 2, approvers: ["*"], timeoutMs: 4 * HOUR_MS },
  { level: 3, approvers: ["*"], timeoutMs: 24 * HOUR_MS },
];

export const DEFAULT_RULES: ApprovalRules = { levels: DEFAULT_LEVELS, quorum: 1, leaseMs: 60_000 };

/** Everything an approval is an approval of. */
export type Approved = Omit<CallIdentity, "callId"> &
  Pick<ApprovalRecord, "inputHash" | "manifestHash" | "policyVersion"> & {
    /** Digest of the changes that were shown, when the call was previewed. */
    shown?: string | undefined;
  };

/** Identifies exactly this call: other arguments, another manifest, policy or caller give another digest. */
export function approvalDigest(approved: Approved): string {
  const { tool, version, operation, inputHash, manifestHash, policyVersion, shown } = approved;
  const { tenant, agent, user = null, session = null } = approved;
  const call = { tool, version, operation, inputHash, manifestHash, policyVersion };
  return hash("sha256", canonicalJson({ ...call, tenant, agent, user, session, ...defined({ shown }) }));
}

/** What a person is told of the call itself, and the digest of it. */
export type QuestionContent = CallIdentity &
  Pick<
    ApprovalRecord,
    "inputHash" | "manifestHash" | "policyVersion" | "digest" | "summary" | "risk" | "input"
  >;

interface Question {
  approvalId: string;
  content: QuestionContent;
  because: ApprovalCause;
  decision: Pick<Decision, "reason" | "rules" | "tier">;
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
  const { approvalId, content, because, decision, effects, round, at } = question;
  const tier = because === "policy" ? decision.tier : undefined;
  return {
    approvalId,
    ...content,
    because,
    round,
    ...defined({ tier, effects }),
    reason: REASON[because] ?? decision.reason,
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

/** Characters no name has: they move a cursor, turn the direction of writing, or have no agreed form. */
const NOT_OF_A_NAME = /[\p{Cc}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
const MAX_NAME_CHARS = 256;

/** Whether a text can be a person's name: it is no longer than a name is, and something of it can be seen. */
function isName(name: unknown): name is string {
  return (
    typeof name === "string" &&
    name.length <= MAX_NAME_CHARS &&
    name.isWellFormed() &&
    !NOT_OF_A_NAME.test(name) &&
    personOf(name) !== ""
  );
}

const MAX_WORDS_CHARS = 2_000;

/** What a person says beside yes or no, as it is kept: cut where it is longer than anybody reads. */
export function wordsOf(text: string): string {
  return String(text).slice(0, MAX_WORDS_CHARS).toWellFormed();
}

/** Why nobody may answer any more, or not this person. Escalation adds people. An agent never answers for itself. */
function mayNotAnswer(record: ApprovalRecord, { by, at }: Answer): Failure | undefined {
  const standing = standingAt(record, at);
  if (standing.state !== "pending") return settledAlready(record, standing);
  if (!isName(by)) {
    const message = `An answer needs the name of the person who gives it: visible text of at most ${MAX_NAME_CHARS} characters, without control characters.`;
    return failure("E3226", { message });
  }
  if (personOf(by) === personOf(record.agent)) {
    return failure("E3226", { message: `${by} made this call and cannot answer for it.` });
  }
  const present = levelAt(record, at);
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
  const refused = mayNotAnswer(record, { by, at });
  if (refused) return refused;
  const { digest, quorum } = record;
  if (record.votes.some((vote) => personOf(vote.by) === personOf(by))) {
    return failure("E3222", {
      message: `${by} has approved ${record.approvalId} already; ${quorum} different people have to.`,
    });
  }
  const vote = { by, at, level: levelAt(record, at), digest, ...(comment && { comment }) };
  const votes = [...record.votes, vote];
  const people = new Set(votes.filter((one) => one.digest === digest).map((one) => personOf(one.by)));
  return next(record, { votes, standing: people.size >= quorum ? yes(record, at) : record.standing });
}

/** A no, by one person; nobody overrules it. */
export function deny(
  record: ApprovalRecord,
  { by, at, reason }: Answer & { reason: string },
): ApprovalChange {
  return mayNotAnswer(record, { by, at }) ?? next(record, { standing: { state: "denied", at, by, reason } });
}

/** A yes to other arguments. Earlier votes were about the old ones and do not count. */
export function edit(
  record: ApprovalRecord,
  { by, at, content }: Answer & { content: QuestionContent },
): ApprovalChange {
  return approve({ ...record, ...content, editedBy: by, votes: [] }, { by, at });
}

/** Holds it for one executor that is about to run exactly what was approved. */
export function reserve(
  record: ApprovalRecord,
  { owner, at, leaseMs, digest }: { owner: string; at: number; leaseMs: number; digest: string },
): ApprovalChange {
  const standing = standingAt(record, at);
  if (!isUnspent(standing)) return settledAlready(record, standing);
  if (digest !== record.digest) {
    const { approvalId } = record;
    const message = `Approval ${approvalId} is for other arguments, another tool version, policy or caller than this call has now.`;
    return failure("E3216", { message, details: { approvalId } });
  }
  return next(record, { standing: { state: "reserved", owner, until: at + leaseMs } });
}

/** Spends it, in the same unit of work as the intent to run. A reservation that outlived its lease may have expired. */
export function consume(
  record: ApprovalRecord,
  { owner, at }: { owner: string; at: number },
): ApprovalChange {
  const { standing } = record;
  const present = standingAt(record, at);
  const isOurs = standing.state === "reserved" && standing.owner === owner && !isFinal(present.state);
  return isOurs ? next(record, { standing: { state: "consumed", at } }) : settledAlready(record, present);
}

/** Gives a reservation back: nothing has run by it. */
export function release(record: ApprovalRecord, at: number): ApprovalRecord {
  if (record.standing.state !== "reserved") return record;
  return next(record, { standing: yes(record, at) });
}

/**
 * Ends it unused. `withdrawn`: the caller no longer wants the call. `void`: the call differs from what was approved, or
 * must not run any more.
 */
export function end(
  record: ApprovalRecord,
  standing: Extract<ApprovalStanding, { state: "withdrawn" | "void" }>,
): ApprovalChange {
  const present = standingAt(record, standing.at);
  return isFinal(present.state) ? settledAlready(record, present) : next(record, { standing });
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

function settledAlready({ approvalId, callId }: ApprovalRecord, standing: ApprovalStanding): Failure {
  const { state } = standing;
  return failure("E3222", {
    message: `Approval ${approvalId} is ${state}.`,
    details: { approvalId, state },
    ...(isUnspent(standing) && { advice: `Run the call by it: \`sallyport calls resume ${callId}\`.` }),
  });
}

function yes({ editedBy }: ApprovalRecord, at: number): ApprovalStanding {
  return editedBy === undefined ? { state: "approved", at } : { state: "edited", at };
}

function next(record: ApprovalRecord, change: Partial<ApprovalRecord>): ApprovalRecord {
  return { ...record, ...change, revision: record.revision + 1 };
}
