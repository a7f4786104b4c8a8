import { type ErrorCode, type Failure, isFailure, type JsonObject } from "@sallyport/protocol";
import {
  audienceProblem,
  callerProblem,
  expiryProblem,
  issuerProblem,
  lifeProblem,
  operationProblem,
  type TokenQuery,
  type TokenRules,
  toolProblem,
  versionProblem,
} from "./claim-checks.ts";
import { dateOf } from "./claim-reader.ts";
import { type ReadClaims, readClaims } from "./claims.ts";
import { type DecodedToken, readPart, splitToken } from "./compact-token.ts";
import type { KeySet, VerificationKey } from "./key-set.ts";
import { revokedToken } from "./revocation-list.ts";
import { headerProblem } from "./token-header.ts";
import { verifyToken } from "./verify-token.ts";
import { VersionRanges } from "./version-ranges.ts";

export interface CheckReport {
  check: string;
  /** What a call would be refused with. */
  code: ErrorCode;
  result: "passes" | "fails" | "not checked";
  /** Why it fails, or what is missing to check it. */
  why?: string;
}

export interface TokenInspection extends DecodedToken {
  checks: CheckReport[];
}

export interface InspectOptions {
  rules: TokenRules;
  at: number;
  /** Left out: the signature is not checked. */
  keys?: KeySet;
  /** What a call would ask for; checks of what is left out are not made. */
  query?: { agent?: string; tenant?: string; tool?: string; version?: string };
  /** The jtis that are revoked; left out: not checked. */
  revoked?: ReadonlySet<string>;
}

/**
 * Takes a token apart and makes every check, also those behind one that fails. For people who look at a token: what
 * comes back is not verified unless its report says so. E3201 when it cannot even be read.
 */
export function inspectToken(token: string, options: InspectOptions): TokenInspection | Failure {
  const parts = splitToken(token);
  if (isFailure(parts)) return parts;
  const header = readPart(parts.header, "header");
  if (isFailure(header)) return header;
  const payload = readPart(parts.payload, "payload");
  if (isFailure(payload)) return payload;
  const { keys } = options;
  const verified = keys && verifyToken(token, keys);
  const signature: CheckReport = verified
    ? outcome("signature", "E3201", isFailure(verified) ? verified : undefined)
    : skipped("signature", "E3201", "no keys to check it with");
  const checks = [
    outcome("algorithm and header", "E3201", headerProblem(header.value)),
    signature,
    ...claimReports(payload.value, verified && !isFailure(verified) ? verified.key : undefined, options),
  ];
  return { header: header.value, payload: payload.value, checks };
}

function claimReports(
  payload: JsonObject,
  key: VerificationKey | undefined,
  options: InspectOptions,
): CheckReport[] {
  const { at, rules } = options;
  const expiresAt = dateOf(payload.exp);
  const expiry =
    expiresAt === undefined
      ? skipped("expiry", "E3202", "there is no exp to go by")
      : outcome("expiry", "E3202", expiryProblem(expiresAt, at, rules.skewMs));
  const ranges = new VersionRanges();
  const read = readClaims(payload, { ranges, kid: "" });
  if (isFailure(read)) return [expiry, outcome("required claims", "E3207", read)];
  return [
    expiry,
    outcome("required claims", "E3207", undefined),
    outcome("times", "E3201", lifeProblem(read, at, rules)),
    outcome("audience", "E3201", audienceProblem(read, rules)),
    outcome("issuer", "E3201", issuerProblem(read.claims, rules, key)),
    ...useReports(read, ranges, options),
    revocation(read, options.revoked),
  ];
}

function useReports(
  { claims }: ReadClaims,
  ranges: VersionRanges,
  { at, query = {} }: InspectOptions,
): CheckReport[] {
  const { agent, tenant, tool, version } = query;
  const asked: TokenQuery = {
    caller: { agent: agent ?? claims.agent, tenant: tenant ?? claims.tenant },
    tool: tool ?? claims.tool,
    ...(version !== undefined && { version }),
    at,
  };
  const when = (known: boolean, check: string, problem: Failure | undefined): CheckReport =>
    known ? outcome(check, "E3201", problem) : skipped(check, "E3201", "say what a call would ask for");
  return [
    when(agent !== undefined || tenant !== undefined, "agent and tenant", callerProblem(claims, asked)),
    when(tool !== undefined, "tool", toolProblem(claims, asked)),
    when(version !== undefined, "tool version", versionProblem(claims, asked, ranges)),
    outcome("operations", "E3201", operationProblem(claims)),
  ];
}

function revocation({ claims }: ReadClaims, revoked: ReadonlySet<string> | undefined): CheckReport {
  if (!revoked) return skipped("revocation", "E3208", "no list of revoked tokens");
  return outcome("revocation", "E3208", revoked.has(claims.jti) ? revokedToken(claims.jti) : undefined);
}

function outcome(check: string, code: ErrorCode, problem: Failure | undefined): CheckReport {
  if (!problem) return { check, code, result: "passes" };
  const places = (problem.issues ?? []).map(({ path, reason }) => `${path} ${reason}`);
  return { check, code, result: "fails", why: [problem.message, ...places].join(" ") };
}

function skipped(check: string, code: ErrorCode, why: string): CheckReport {
  return { check, code, result: "not checked", why };
}
