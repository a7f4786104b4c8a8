import { type Failure, failure } from "@sallyport/protocol";
import { matchesAny } from "../match/patterns.ts";
import type { ApprovalLevel, ApprovalRecord } from "../ports/approvals.ts";

const HOUR_MS = 3_600_000;

/** Who is asked first, and who next when nobody answers: 1 h, 4 h, 24 h. After the last the answer is no. */
export const DEFAULT_LEVELS: readonly ApprovalLevel[] = [
  { level: 1, approvers: ["*"], timeoutMs: HOUR_MS },
  { level: 2, approvers: ["*"], timeoutMs: 4 * HOUR_MS },
  { level: 3, approvers: ["*"], timeoutMs: 24 * HOUR_MS },
];

/** How long all levels together have. */
export function patienceMs(levels: readonly ApprovalLevel[]): number {
  return levels.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0);
}

/** The level whose time it is. */
export function levelAt({ levels, createdAt }: ApprovalRecord, now: number): number {
  let endsAt = createdAt;
  for (const { level, timeoutMs } of levels) {
    endsAt += timeoutMs;
    if (now < endsAt) return level;
  }
  return levels.at(-1)?.level ?? 1;
}

/** When the present level's time is over. */
export function levelEndsAt(record: ApprovalRecord, now: number): number {
  const present = levelAt(record, now);
  const passed = record.levels.filter(({ level }) => level <= present);
  return record.createdAt + patienceMs(passed);
}

/**
 * Why somebody may not answer; undefined when they may. Escalation adds people and takes nobody away. An agent never
 * answers for its own call.
 */
export function mayNotAnswer(record: ApprovalRecord, by: string, now: number): Failure | undefined {
  if (typeof by !== "string" || by.trim() === "" || !by.isWellFormed()) {
    return failure("E3226", { message: "An answer needs the name of the person who gives it." });
  }
  if (by === record.agent) {
    return failure("E3226", { message: `${by} made this call and cannot answer for it.` });
  }
  const present = levelAt(record, now);
  const asked = record.levels.filter(({ level }) => level <= present);
  if (asked.some(({ approvers }) => matchesAny(approvers, by))) return undefined;
  const approvers = asked.flatMap((level) => level.approvers);
  return failure("E3226", {
    message: `${by} is not among the approvers of level ${present}.`,
    details: { level: present, approvers },
  });
}
