import { type Caller, type ErrorCode, type Failure, failure, isFailure } from "@sallyport/protocol";
import { satisfies } from "semver";
import { matchesAny } from "../../match/patterns.ts";
import { expiryOf, type ReadClaims, readClaims } from "./claims.ts";
import { type DecodedToken, decodeToken, headerProblem, invalidToken, verifyToken } from "./jws.ts";
import type { KeySet, VerificationKey } from "./keys.ts";

/*
 * Checks look at the token and the request only, never at the registry: no refusal tells a tool that exists from one that
 * does not. Comparisons are written so that NaN refuses.
 */

/** Signs approvals, so it never signs for calls. */
export const APPROVAL_ISSUER = "l03-tool-execution";

/** What is expected of every token. */
export interface TokenRules {
  issuers: readonly string[];
  /** How far the issuer's clock may be off. */
  skewMs: number;
  /** The longest a token may live. */
  maxLifeMs: number;
  /** A token with an audience has to name this one. */
  audience: string;
}

/** In force for whatever the options leave open. */
export const DEFAULT_TOKEN_RULES: TokenRules = {
  issuers: ["l02-agent-runtime", "sallyport"],
  skewMs: 30_000,
  maxLifeMs: 24 * 60 * 60 * 1000,
  audience: "sallyport",
};

/** What a token is to be used for. */
export interface TokenQuery {
  caller: Caller;
  tool: string;
  /** Left out: only whether the caller may know of the tool is asked. */
  version?: string | undefined;
  at: number;
}

/** A token whose claims are read. */
export interface TokenSubject extends ReadClaims {
  /** What signed it, where that is known. */
  key?: VerificationKey | undefined;
}

/** What a token is checked against, whatever it is used for. */
export interface TokenTerms {
  rules: TokenRules;
  isRevoked(jti: string): boolean;
  versionFits(range: string, version: string): boolean;
}

export interface TokenCheck {
  name: string;
  /** What a call is refused with; E3201 when left out. */
  code?: ErrorCode;
  /** True when a token that passed can fail later for the same use. */
  isMomentary?: true;
  /** What has to be told of a call before the check can be made: one of these. */
  needs?: readonly ("agent" | "tenant" | "tool" | "version")[];
  problem(token: TokenSubject, query: TokenQuery, terms: TokenTerms): Failure | undefined;
}

const CLOCK = "Have the issuer's clock set right, then get a fresh token.";
const CLAIM_OF = { agent: "agent_did", tenant: "tenant_id", user: "user_did" } as const;

/**
 * Every check of the claims, in order: a call is refused with the first that fails, an inspection shows all of them. The
 * expiry comes before them, because it can be told even when other claims cannot be read.
 */
export const TOKEN_CHECKS: readonly TokenCheck[] = [
  { name: "times", isMomentary: true, problem: timesProblem },
  {
    name: "audience",
    problem: ({ audiences }, _query, { rules: { audience } }) =>
      audiences === undefined || audiences.includes(audience)
        ? undefined
        : invalidToken(
            "The token is for another audience.",
            `Have it issued without aud, or with "${audience}" in it.`,
          ),
  },
  { name: "issuer", problem: issuerProblem },
  { name: "agent and tenant", needs: ["agent", "tenant"], problem: callerProblem },
  {
    name: "tool",
    needs: ["tool"],
    problem: ({ claims: { tool } }, query) =>
      tool === query.tool || matchesAny([tool], query.tool)
        ? undefined
        : invalidToken(
            `The token is for ${tool}, not for ${query.tool}.`,
            `Get a token whose tool_id is "${query.tool}".`,
          ),
  },
  {
    name: "tool version",
    needs: ["version"],
    problem: ({ claims: { versions } }, { tool, version }, { versionFits }) =>
      version === undefined || versionFits(versions, version)
        ? undefined
        : invalidToken(
            `The token is for ${tool} in versions ${versions}, not for ${version}.`,
            "Ask for a version in that range, or get a token for this one.",
          ),
  },
  {
    name: "operations",
    problem: ({ claims }) =>
      claims.operations.includes("execute")
        ? undefined
        : invalidToken(
            "The token does not allow calls.",
            'Get a token with "execute" in its allowed_operations.',
          ),
  },
  {
    name: "revocation",
    code: "E3208",
    isMomentary: true,
    problem: ({ claims: { jti } }, _query, { isRevoked }) =>
      isRevoked(jti) ? failure("E3208", { message: "The token was revoked.", details: { jti } }) : undefined,
  },
];

/** The checks that count for a token which passed all of them for the same use. */
export const MOMENTARY_CHECKS = TOKEN_CHECKS.filter(({ isMomentary }) => isMomentary);

/** E3202 once the token has expired, allowing for clocks that differ. */
export function expiryProblem(expiresAt: number, at: number, skewMs: number): Failure | undefined {
  if (at < expiresAt + skewMs) return undefined;
  const expired = timeText(expiresAt);
  return failure("E3202", { message: `The token expired at ${expired}.`, details: { expired } });
}

/** A token from the future, one that lives too long, or one that is not valid yet. */
function timesProblem(token: TokenSubject, { at }: TokenQuery, { rules }: TokenTerms): Failure | undefined {
  const { issuedAt, expiresAt } = token.claims;
  const { notBefore = at } = token;
  const latest = at + rules.skewMs;
  if (!(issuedAt <= latest)) return invalidToken("The token was issued in the future.", CLOCK);
  if (!(issuedAt < expiresAt)) return invalidToken("The token expires before it was issued.", CLOCK);
  if (!(expiresAt - issuedAt <= rules.maxLifeMs)) {
    const seconds = Math.floor(rules.maxLifeMs / 1000);
    return invalidToken(
      `The token lives longer than ${seconds} seconds.`,
      `Have it issued with an exp at most ${seconds} seconds after its iat.`,
    );
  }
  if (notBefore <= latest) return undefined;
  return invalidToken(
    `The token is not valid before ${timeText(notBefore)}.`,
    "Wait until then, or get a token that is valid now.",
  );
}

/** An issuer that is not trusted, or a key that does not sign for it. */
function issuerProblem(
  { claims, key }: TokenSubject,
  _query: TokenQuery,
  { rules }: TokenTerms,
): Failure | undefined {
  const { issuer } = claims;
  if (issuer === APPROVAL_ISSUER)
    return invalidToken(
      "This is an approval token, which does not allow a call.",
      "Send it to answer the approval it is for; to call, send a capability token.",
    );
  if (!rules.issuers.includes(issuer))
    return invalidToken(
      `The token's issuer "${issuer}" is not trusted here.`,
      `Get a token from ${rules.issuers.join(" or ")}, or have the operator trust this issuer.`,
    );
  if (key?.issuers === undefined || key.issuers.includes(issuer)) return undefined;
  return invalidToken(
    `The key that signed the token does not sign for "${issuer}".`,
    "Get a token that its issuer signed with its own key.",
  );
}

/** Issued to another agent or tenant; or to another user, where both name one. */
function callerProblem({ claims }: TokenSubject, { caller }: TokenQuery): Failure | undefined {
  const isOtherUser = claims.user !== undefined && caller.user !== undefined && claims.user !== caller.user;
  const otherUser = isOtherUser ? "user" : undefined;
  const otherTenant = claims.tenant !== caller.tenant ? "tenant" : otherUser;
  const other = claims.agent !== caller.agent ? "agent" : otherTenant;
  if (other === undefined) return undefined;
  return invalidToken(
    `The token was issued to another ${other} than the one that calls.`,
    `Get a token whose ${CLAIM_OF[other]} is "${caller[other]}".`,
  );
}

function timeText(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "an unknown time" : date.toISOString();
}

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
