import { hash } from "node:crypto";
import {
  canonicalJson,
  type Failure,
  failure,
  type Issue,
  isJsonObject,
  type JsonValue,
} from "@sallyport/protocol";
import { satisfies, validRange } from "semver";
import { BLOCKED, lookUp, parsePointer } from "../match/document.ts";
import { judgeReadings, speltUrl } from "../match/patterns.ts";
import { YES } from "../match/truth.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { AuthorityRequest } from "../ports/authority.ts";
import {
  type ArgumentPattern,
  type GrantCommon,
  type StandingGrant,
  TIERS,
  type Tier,
} from "../ports/grants.ts";
import { redact } from "../redact/redact.ts";
import {
  coversResource,
  expiryProblem,
  type GrantContext,
  isInside,
  issuesOf,
  signGrant,
  textProblem,
} from "./grant/index.ts";

/** A standing grant before it is given an id, a date and a signature. */
export type StandingDraft = Omit<
  StandingGrant,
  Exclude<keyof GrantCommon, "tenant" | "grantor" | "expiresAt">
>;

/** How far a person's "always" reaches. */
export interface StandingChoice {
  /** `exact`: only this input; `any`: whatever the arguments. */
  arguments: "exact" | "any" | ArgumentPattern[];
  agent: "this" | "any";
  /** Only in the session the call was made in. */
  session?: "this";
  project?: string;
  /** SemVer range; left out: every version compatible with the one that was asked about. */
  versions?: string;
  until?: number;
  by: string;
  tier: Tier;
  /** Has to be said when a call of high or critical risk is allowed whatever its arguments. */
  anyArguments?: true;
}

/** The question a policy has put, and where. */
export interface StandingQuestion {
  tier: Tier;
  /** The folder or project the call is made in. */
  project?: string | undefined;
}

/** Stands for every agent. */
const ANY_AGENT = "*";

/**
 * The oldest standing grant that answers the question beforehand; undefined when a person has to be asked. The grants
 * must be genuine, as `GrantIndex.standing()` gives them. A field that is not understood does not match.
 */
export function matchStanding(
  grants: readonly StandingGrant[],
  request: AuthorityRequest,
  question: StandingQuestion,
): StandingGrant | undefined {
  return grants.find((grant) => answers(grant, request, question));
}

function answers(
  grant: StandingGrant,
  { caller, tool, version, operation, input, at }: AuthorityRequest,
  { tier, project }: StandingQuestion,
): boolean {
  return (
    grant.revokedAt === undefined &&
    (grant.expiresAt === undefined || grant.expiresAt > at) &&
    grant.tenant === caller.tenant &&
    grant.tool === tool &&
    grant.operations.includes(operation) &&
    (grant.agent === ANY_AGENT || grant.agent === caller.agent) &&
    (grant.session === undefined || grant.session === caller.session) &&
    (grant.project === undefined || grant.project === project) &&
    satisfies(version, grant.versions) &&
    outranks(grant.tier, tier) &&
    grant.arguments.every((pattern) => matchesArgument(pattern, input))
  );
}

/** Whether the word of one tier answers a question of another. */
function outranks(tier: Tier, asked: Tier): boolean {
  const rank = TIERS.indexOf(tier);
  return rank !== -1 && rank >= TIERS.indexOf(asked) && TIERS.includes(asked);
}

/**
 * The standing grant that a person's answer asks for. Refused (E3220) with every reason: too wide for the risk without
 * saying so, too weak to answer the question it comes from, or not understandable.
 */
export function draftStanding(
  approval: ApprovalRecord,
  input: JsonValue,
  choice: StandingChoice,
): StandingDraft | Failure {
  const { tier, project, until, session } = choice;
  const draft: StandingDraft = {
    kind: "standing",
    tenant: approval.tenant,
    grantor: choice.by,
    tier,
    tool: approval.tool,
    versions: choice.versions ?? `^${approval.version}`,
    operations: [approval.operation],
    arguments: patternsFor(choice.arguments, input),
    agent: choice.agent === "any" ? ANY_AGENT : approval.agent,
    ...(session === "this" && approval.session !== undefined && { session: approval.session }),
    ...(project !== undefined && { project }),
    ...(until !== undefined && { expiresAt: until }),
    approvalId: approval.approvalId,
  };
  const issues = [...choiceIssues(approval, choice, draft), ...standingIssues(draft, approval.createdAt)];
  return issues.length > 0 ? notAllowed(issues) : draft;
}

function notAllowed(issues: Issue[]): Failure {
  return failure("E3220", { message: "This cannot be allowed beforehand.", issues });
}

/** Signs a draft that may be kept. Refused with E3220 when it has expired already or cannot be understood. */
export function issueStanding(
  draft: StandingDraft,
  { now, ids, signer }: Pick<GrantContext, "now" | "ids" | "signer">,
): StandingGrant | Failure {
  const issues = standingIssues(draft, now);
  if (issues.length > 0) return notAllowed(issues);
  return signGrant({ ...draft, grantId: ids.next(), issuedAt: now, uses: 0, revision: 1 }, signer);
}

/** What is wrong with a draft, whoever made it; empty when it may be kept. */
export function standingIssues(draft: StandingDraft, now: number): Issue[] {
  const { tenant, grantor, tool, agent, operations, versions, tier, expiresAt } = draft;
  return [
    ...issuesOf(
      ["/tenant", textProblem(tenant)],
      ["/grantor", textProblem(grantor)],
      ["/tool", textProblem(tool)],
      ["/agent", textProblem(agent)],
    ),
    ...operations.flatMap((operation, index) => issuesOf([`/operations/${index}`, textProblem(operation)])),
    ...issuesOf(
      ["/operations", operations.length === 0 && "are none"],
      ["/versions", validRange(versions) === null && "is not a SemVer range"],
      ["/tier", !TIERS.includes(tier) && "is not a tier"],
      ["/expiresAt", expiryProblem(expiresAt, now)],
    ),
    ...draft.arguments.flatMap((pattern, index) =>
      issuesOf([`/arguments/${index}`, patternProblem(pattern)]),
    ),
  ];
}

/** What is wrong with a choice for this approval. */
function choiceIssues(
  { risk, tier: asked, agent, session }: ApprovalRecord,
  choice: StandingChoice,
  draft: StandingDraft,
): Issue[] {
  const isRisky = risk === "high" || risk === "critical";
  const isTooWide = draft.arguments.length === 0 && isRisky && choice.anyArguments !== true;
  const isTooWeak = asked !== undefined && !outranks(choice.tier, asked);
  const isAmbiguous = choice.agent === "this" && agent === ANY_AGENT;
  const hasNoSession = choice.session === "this" && session === undefined;
  const wide = `any arguments of a ${risk} risk call: say so explicitly (--always any) to mean it`;
  return issuesOf(
    ["/arguments", isTooWide && wide],
    ["/tier", isTooWeak && `a ${choice.tier} does not answer a question of the ${asked}`],
    ["/agent", isAmbiguous && "its name would mean any agent"],
    ["/session", hasNoSession && "the call belongs to no session"],
  );
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

type Test = (wanted: JsonValue, found: JsonValue) => boolean;

/**
 * How an argument can be tested. The set is closed: a word that is not here never matches. It is stricter than the tests
 * of policies: lists are not judged by their entries, and a path with `..` lies nowhere.
 */
const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ["exists", (wanted) => wanted === true],
  ["equals", isEqual],
  ["oneOf", (wanted, found) => Array.isArray(wanted) && wanted.some((one) => isEqual(one, found))],
  ["glob", ofTexts((wanted, found) => coversResource([wanted], found))],
  ["prefix", ofTexts(beginsWith)],
  ["inside", ofTexts((wanted, found) => isInside([wanted], found))],
  ["sha256", (wanted, found) => wanted === digestOf(found)],
]);

/** Whether the input has what the pattern asks for at its pointer. A pattern that is not understood does not match. */
export function matchesArgument({ pointer, match }: ArgumentPattern, input: JsonValue): boolean {
  const words = isJsonObject(match) ? Object.entries(match) : [];
  const tokens = parsePointer(pointer);
  const found = tokens && lookUp(input, tokens);
  const passes = ([word, wanted]: [string, JsonValue]) => {
    if (found === undefined || found === BLOCKED) return word === "exists" && wanted === false;
    return TESTS.get(word)?.(wanted, found) === true;
  };
  return words.length > 0 && words.every(passes);
}

/** What is wrong with a pattern; undefined when it can match something. */
function patternProblem({ pointer, match }: ArgumentPattern): string | undefined {
  if (typeof pointer !== "string" || (pointer !== "" && !pointer.startsWith("/")))
    return "its pointer is not a JSON Pointer";
  const words = isJsonObject(match) ? Object.entries(match) : [];
  if (words.length === 0) return "it says nothing about the argument";
  const wrong = words.find(([word, wanted]) => !isUnderstood(word, wanted));
  return wrong && `${wrong[0]} is not a known test, or its value is of the wrong kind`;
}

function isUnderstood(word: string, wanted: JsonValue): boolean {
  if (word === "exists") return typeof wanted === "boolean";
  if (word === "equals") return true;
  if (word === "oneOf") return Array.isArray(wanted) && wanted.length > 0;
  return TESTS.has(word) && typeof wanted === "string" && wanted !== "";
}

function isEqual(wanted: JsonValue, found: JsonValue): boolean {
  return canonicalJson(wanted) === canonicalJson(found);
}

/** Stands for a value that must not be kept itself. */
function digestOf(value: JsonValue): string {
  return hash("sha256", canonicalJson(value));
}

function ofTexts(test: (wanted: string, found: string) => boolean): Test {
  return (wanted, found) => typeof wanted === "string" && typeof found === "string" && test(wanted, found);
}

/** The host of a URL without a path ends where the prefix does: `http://a.com` is no prefix of `a.com.evil.com`. */
function beginsWith(prefix: string, found: string): boolean {
  const wanted = speltUrl(prefix) ?? prefix;
  return judgeReadings(found, (reading) => reading.startsWith(wanted)) === YES;
}
