import { type Failure, failure, type Issue, type JsonValue } from "@sallyport/protocol";
import { validRange } from "semver";
import type { ApprovalRecord } from "../../ports/approvals.ts";
import type { ArgumentPattern, StandingGrant } from "../../ports/grants.ts";
import { TIERS, type Tier } from "../../ports/policy.ts";
import { redact } from "../../redact/redact.ts";
import { issueAt, textProblem } from "../capability/grant-draft.ts";
import { expiryProblem } from "../capability/issue-grant.ts";
import { digestOf, patternProblem } from "./argument-pattern.ts";
import { ANY_AGENT, outranks } from "./match-standing.ts";

/** A standing grant before it is given an id, a date and a signature. */
export type StandingDraft = Omit<
  StandingGrant,
  | "grantId"
  | "issuedAt"
  | "signature"
  | "uses"
  | "lastUsedAt"
  | "revision"
  | "revokedAt"
  | "revokedBy"
  | "revokedBecause"
>;

/** How far a person's "always" reaches. */
export interface StandingChoice {
  /** `exact`: only this input; `any`: whatever the arguments. */
  arguments: "exact" | "any" | ArgumentPattern[];
  agent: "this" | "any";
  /** Only in the session the call was made in. */
  session?: "this";
  project?: string;
  /** SemVer range; left out: what is compatible with the version that was asked about. */
  versions?: string;
  until?: number;
  by: string;
  tier: Tier;
  /** Has to be said when a call of high or critical risk is allowed whatever its arguments. */
  anyArguments?: true;
}

const RISKY = ["high", "critical"];

/**
 * The standing grant that a person's answer asks for. Refused (E3220) with every reason: too wide for the risk without
 * saying so, too weak to answer the question it comes from, or not understandable.
 */
export function draftStanding(
  approval: ApprovalRecord,
  input: JsonValue,
  choice: StandingChoice,
): StandingDraft | Failure {
  const patterns = patternsFor(choice.arguments, input);
  const issues = issuesOf(approval, { ...choice, patterns });
  const draft: StandingDraft = {
    kind: "standing",
    tenant: approval.tenant,
    grantor: choice.by,
    tier: choice.tier,
    tool: approval.tool,
    versions: choice.versions ?? `^${approval.version}`,
    operations: [approval.operation],
    arguments: patterns,
    agent: choice.agent === "any" ? ANY_AGENT : approval.agent,
    ...(choice.session === "this" && approval.session !== undefined && { session: approval.session }),
    ...(choice.project !== undefined && { project: choice.project }),
    ...(choice.until !== undefined && { expiresAt: choice.until }),
    approvalId: approval.approvalId,
  };
  issues.push(...standingIssues(draft, approval.createdAt));
  return issues.length > 0 ? notAllowed(issues) : draft;
}

export function notAllowed(issues: Issue[]): Failure {
  return failure("E3220", { message: "This cannot be allowed beforehand.", issues });
}

/** What is wrong with a draft, whoever made it; empty when it may be kept. */
export function standingIssues(draft: StandingDraft, now: number): Issue[] {
  const { tenant, grantor, tool, agent, operations, versions, tier, expiresAt } = draft;
  const texts = { tenant, grantor, tool, agent };
  return [
    ...Object.entries(texts).flatMap(([field, text]) => issueAt(`/${field}`, textProblem(text))),
    ...operations.flatMap((operation, index) => issueAt(`/operations/${index}`, textProblem(operation))),
    ...issueAt("/operations", operations.length > 0 ? undefined : "are none"),
    ...issueAt("/versions", validRange(versions) === null ? "is not a SemVer range" : undefined),
    ...issueAt("/tier", TIERS.includes(tier) ? undefined : "is not a tier"),
    ...issueAt("/expiresAt", expiryProblem(expiresAt, now)),
    ...draft.arguments.flatMap((pattern, index) => issueAt(`/arguments/${index}`, patternProblem(pattern))),
  ];
}

/** An input with secrets in it is remembered by its digest alone. */
function patternsFor(chosen: StandingChoice["arguments"], input: JsonValue): ArgumentPattern[] {
  if (chosen === "any") return [];
  if (chosen !== "exact") return structuredClone(chosen);
  const hasSecrets = redact(input) !== input;
  return [
    { pointer: "", match: hasSecrets ? { sha256: digestOf(input) } : { equals: structuredClone(input) } },
  ];
}

interface Chosen extends StandingChoice {
  patterns: ArgumentPattern[];
}

function issuesOf(approval: ApprovalRecord, chosen: Chosen): Issue[] {
  const { patterns, anyArguments, tier } = chosen;
  const isTooWide = patterns.length === 0 && RISKY.includes(approval.risk) && anyArguments !== true;
  const isTooWeak = approval.tier !== undefined && !outranks(tier, approval.tier);
  const isNobody = chosen.agent === "this" && approval.agent === ANY_AGENT;
  const noSession = chosen.session === "this" && approval.session === undefined;
  const reasons: [string, string | false][] = [
    [
      "/arguments",
      isTooWide &&
        `any arguments of a ${approval.risk} risk call: say so explicitly (--always any) to mean it`,
    ],
    ["/tier", isTooWeak && `a ${tier} does not answer a question of the ${approval.tier}`],
    ["/agent", isNobody && "its name would mean any agent"],
    ["/session", noSession && "the call belongs to no session"],
  ];
  return reasons.flatMap(([path, reason]) => (reason === false ? [] : [{ path, reason }]));
}
