import { type ErrorCode, type Failure, isFailure } from "@sallyport/protocol";
import { satisfies } from "semver";
import { expiryOf, readClaims } from "./claims.ts";
import { type DecodedToken, decodeToken, headerProblem, verifyToken } from "./jws.ts";
import type { KeySet } from "./keys.ts";
import {
  expiryProblem,
  TOKEN_CHECKS,
  type TokenQuery,
  type TokenRules,
  type TokenSubject,
  type TokenTerms,
} from "./token-checks.ts";

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
 * Takes a token apart and makes every check, also those after one that fails. For people who look at a token: nothing in
 * the answer is verified unless its report says so. E3201 when the token cannot be read.
 */
export function inspectToken(token: string, options: InspectOptions): TokenInspection | Failure {
  const decoded = decodeToken(token);
  if (isFailure(decoded)) return decoded;
  const { header, payload } = decoded;
  const { at, rules, keys } = options;
  const verified = keys && verifyToken(token, keys);
  const key = verified && !isFailure(verified) ? verified.key : undefined;
  const expiresAt = expiryOf(payload);
  const claims = readClaims(payload, key?.kid ?? "");
  const expiry = expiresAt !== undefined && expiryProblem(expiresAt, at, rules.skewMs);
  const checks = [
    report("algorithm and header", "E3201", headerProblem(header)),
    report("signature", "E3201", verified ?? "no keys to check it with"),
    report("expiry", "E3202", expiry === false ? "there is no exp to go by" : expiry),
    report("required claims", "E3207", claims),
    ...(isFailure(claims) ? [] : claimReports({ ...claims, key }, options)),
  ];
  return { header, payload, checks };
}

function claimReports(token: TokenSubject, options: InspectOptions): CheckReport[] {
  const { rules, at, query = {}, revoked } = options;
  const { agent, tenant, tool } = { ...token.claims, ...query };
  const asked: TokenQuery = { caller: { agent, tenant }, tool, version: query.version, at };
  const terms: TokenTerms = {
    rules,
    isRevoked: (jti) => revoked?.has(jti) === true,
    versionFits: (range, wanted) => satisfies(wanted, range),
  };
  return TOKEN_CHECKS.map(({ name, code = "E3201", needs, problem }) => {
    if (name === "revocation" && !revoked) return report(name, code, "no list of revoked tokens");
    const isUnasked = needs?.every((told) => query[told] === undefined);
    return report(name, code, isUnasked ? "say what a call would ask for" : problem(token, asked, terms));
  });
}

/** `found`: the failure of the check, or what is missing to make it; anything else passes. */
function report(check: string, code: ErrorCode, found: object | string | undefined): CheckReport {
  if (typeof found === "string") return { check, code, result: "not checked", why: found };
  if (!found || !isFailure(found)) return { check, code, result: "passes" };
  const places = (found.issues ?? []).map(({ path, reason }) => `${path} ${reason}`);
  return { check, code, result: "fails", why: [found.message, ...places].join(" ") };
}
