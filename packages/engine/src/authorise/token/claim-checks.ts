import { type Caller, type Failure, failure } from "@sallyport/protocol";
import { matchesAny } from "../../match/patterns.ts";
import type { TokenClaims } from "../../ports/tokens.ts";
import type { ReadClaims } from "./claims.ts";
import { invalidToken } from "./compact-token.ts";
import type { VerificationKey } from "./key-set.ts";
import type { VersionRanges } from "./version-ranges.ts";

/*
 * Every check speaks of the token and the request alone and knows nothing of the registry, so that no refusal tells a
 * tool that exists from one that does not. Comparisons are written so that NaN refuses.
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
  /** A token that says whom it is for has to name this. */
  audience: string;
}

/** What a token is to be used for. */
export interface TokenQuery {
  caller: Caller;
  tool: string;
  /** Left out: only whether the caller may know of the tool is asked. */
  version?: string;
  at: number;
}

/** E3202 once the token has expired, allowing for clocks that differ. */
export function expiryProblem(expiresAt: number, at: number, skewMs: number): Failure | undefined {
  if (at < expiresAt + skewMs) return undefined;
  const expired = timeText(expiresAt);
  return failure("E3202", { message: `The token expired at ${expired}.`, details: { expired } });
}

/** E3201 for a token from the future, one that lives too long, and one that is not valid yet. */
export function lifeProblem(
  { claims, notBefore }: ReadClaims,
  at: number,
  rules: TokenRules,
): Failure | undefined {
  const { issuedAt, expiresAt } = claims;
  const clock = "Have the issuer's clock set right, then get a fresh token.";
  if (!(issuedAt <= at + rules.skewMs)) return invalidToken("The token was issued in the future.", clock);
  if (!(issuedAt < expiresAt)) return invalidToken("The token expires before it was issued.", clock);
  if (!(expiresAt - issuedAt <= rules.maxLifeMs)) return livesTooLong(rules.maxLifeMs);
  if (notBefore !== undefined && !(notBefore <= at + rules.skewMs))
    return invalidToken(
      `The token is not valid before ${timeText(notBefore)}.`,
      "Wait until then, or get a token that is valid now.",
    );
  return undefined;
}

function livesTooLong(maxLifeMs: number): Failure {
  const seconds = Math.floor(maxLifeMs / 1000);
  return invalidToken(
    `The token lives longer than ${seconds} seconds.`,
    `Have it issued with an exp at most ${seconds} seconds after its iat.`,
  );
}

/** E3201 when the token says that it is for somebody else. */
export function audienceProblem({ audiences }: ReadClaims, { audience }: TokenRules): Failure | undefined {
  if (audiences === undefined || audiences.includes(audience)) return undefined;
  return invalidToken(
    "The token is for somebody else to accept.",
    `Have it issued without aud, or with "${audience}" in it.`,
  );
}

/** E3201 when the issuer is not trusted, or the key that signed does not sign for it. */
export function issuerProblem(
  { issuer }: TokenClaims,
  { issuers }: TokenRules,
  key?: VerificationKey,
): Failure | undefined {
  if (issuer === APPROVAL_ISSUER)
    return invalidToken(
      "This is an approval token, which does not allow a call.",
      "Send it to answer the approval it is for; to call, send a capability token.",
    );
  if (!issuers.includes(issuer))
    return invalidToken(
      `The token's issuer "${issuer}" is not trusted here.`,
      `Get a token from ${issuers.join(" or ")}, or have the operator trust this issuer.`,
    );
  if (key?.issuers === undefined || key.issuers.includes(issuer)) return undefined;
  return invalidToken(
    `The key that signed the token does not sign for "${issuer}".`,
    "Get a token that its issuer signed with its own key.",
  );
}

/** E3201 unless the token was issued to this agent of this tenant. */
export function callerProblem({ agent, tenant }: TokenClaims, { caller }: TokenQuery): Failure | undefined {
  const other = agent !== caller.agent ? "agent" : tenant !== caller.tenant ? "tenant" : undefined;
  if (other === undefined) return undefined;
  return invalidToken(
    `The token was issued to another ${other} than the one that calls.`,
    `Get a token whose ${other === "agent" ? "agent_did" : "tenant_id"} is "${caller[other]}".`,
  );
}

/** E3201 unless the token is for this tool. */
export function toolProblem({ tool }: TokenClaims, query: TokenQuery): Failure | undefined {
  if (tool === query.tool || matchesAny([tool], query.tool)) return undefined;
  return invalidToken(
    `The token is for ${tool}, not for ${query.tool}.`,
    `Get a token whose tool_id is "${query.tool}".`,
  );
}

/** E3201 unless the version is in the token's range; what is asked without a version passes. */
export function versionProblem(
  { versions }: TokenClaims,
  { tool, version }: TokenQuery,
  ranges: VersionRanges,
): Failure | undefined {
  if (version === undefined || ranges.holds(versions, version)) return undefined;
  return invalidToken(
    `The token is for ${tool} in versions ${versions}, not for ${version}.`,
    "Ask for a version in that range, or get a token for this one.",
  );
}

/** E3201 unless the token allows calls. */
export function operationProblem({ operations }: TokenClaims): Failure | undefined {
  if (operations.includes("execute")) return undefined;
  return invalidToken(
    "The token does not allow calls.",
    'Get a token with "execute" in its allowed_operations.',
  );
}

function timeText(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "an unknown time" : date.toISOString();
}
