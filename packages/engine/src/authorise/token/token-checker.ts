import { type ErrorCode, type Failure, failure, isFailure } from "@sallyport/protocol";
import type { Revocation, TokenClaims } from "../../ports/tokens.ts";
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
import { ClaimsCache } from "./claims-cache.ts";
import { invalidToken } from "./compact-token.ts";
import type { KeySet } from "./key-set.ts";
import { RevocationList, revokedToken } from "./revocation-list.ts";
import { type VerifiedToken, verifyToken } from "./verify-token.ts";
import { VersionRanges } from "./version-ranges.ts";

export interface TokenCheckerOptions extends Partial<TokenRules> {
  /** The keys in force. A function is asked at each check, so that rotated keys count at once. */
  keys: KeySet | (() => KeySet);
  /** Verified tokens that are remembered; 0: none. */
  cacheSize?: number;
}

/** In force for whatever the options leave open. */
export const DEFAULT_TOKEN_RULES: TokenRules = {
  issuers: ["l02-agent-runtime", "sallyport"],
  skewMs: 30_000,
  maxLifeMs: 24 * 60 * 60 * 1000,
  audience: "sallyport",
};

const DEFAULT_CACHE_SIZE = 10_000;

/** After one of these the token never passes again. */
const ENDED: ErrorCode[] = ["E3202", "E3208"];

/** Makes a checker with no revocations yet: tell it those that are on record before it is first asked. */
export function createTokenChecker(options: TokenCheckerOptions): TokenChecker {
  return new TokenChecker(options);
}

/** Says whether a capability token allows what is asked (L3-PRM-1). Nothing here waits, and nothing throws. */
export class TokenChecker {
  readonly #rules: TokenRules;
  readonly #keys: () => KeySet;
  readonly #cache: ClaimsCache;
  readonly #revocations = new RevocationList();
  readonly #ranges = new VersionRanges();
  #verifiedWith: KeySet | undefined;

  constructor({ keys, cacheSize = DEFAULT_CACHE_SIZE, ...rules }: TokenCheckerOptions) {
    this.#rules = { ...DEFAULT_TOKEN_RULES, ...rules };
    this.#keys = typeof keys === "function" ? keys : () => keys;
    this.#cache = new ClaimsCache(cacheSize);
  }

  /** What the token says, if it allows what is asked; else the first check that failed. Nobody gets in without one. */
  check(token: string | undefined, query: TokenQuery): TokenClaims | Failure {
    if (typeof token !== "string" || token === "") return missingToken();
    const keys = this.#keysInForce();
    if (isFailure(keys)) return keys;
    const known = this.#cache.get(token) ?? this.#verify(token, keys, query.at);
    if (isFailure(known)) return known;
    const problem = this.#problemOf(known.claims, query);
    if (problem && ENDED.includes(problem.code)) this.#cache.delete(token);
    return problem ?? known.claims;
  }

  /** Checks claims that were verified earlier against all that may have changed since. */
  recheck(claims: TokenClaims, query: TokenQuery): TokenClaims | Failure {
    const keys = this.#keysInForce();
    if (isFailure(keys)) return keys;
    if (!keys.find(claims.kid))
      return invalidToken("The key the token was signed with is not in force any more.");
    return this.#problemOf(claims, query) ?? claims;
  }

  /** From now on a token of this name is refused with E3208. */
  revoke(jti: string): void {
    this.#revocations.add(jti);
    this.#cache.drop(new Set([jti]));
  }

  /** As `revoke`, for revocations that are on record. */
  revoked(list: Iterable<Revocation>): void {
    const jtis = new Set<string>();
    for (const { jti, forgetAt } of list) {
      // A token passes until its expiry and the skew are over, so it must be known as revoked as long.
      this.#revocations.add(jti, forgetAt + this.#rules.skewMs);
      jtis.add(jti);
    }
    if (jtis.size > 0) this.#cache.drop(jtis);
  }

  /** A token that was verified with keys that are not in force any more has to be verified again. */
  #keysInForce(): KeySet | Failure {
    try {
      const keys = this.#keys();
      if (keys !== this.#verifiedWith) this.#cache.clear();
      this.#verifiedWith = keys;
      return keys;
    } catch (error) {
      return failure("E3227", {
        message: "The keys to check tokens with cannot be had.",
        details: { cause: error instanceof Error ? error.message : String(error) },
      });
    }
  }

  #verify(token: string, keys: KeySet, at: number): ReadClaims | Failure {
    const verified = verifyToken(token, keys);
    if (isFailure(verified)) return verified;
    const read = this.#admit(verified, at);
    if (!isFailure(read)) this.#cache.set(token, read);
    return read;
  }

  #admit({ payload, key }: VerifiedToken, at: number): ReadClaims | Failure {
    const expiresAt = dateOf(payload.exp);
    const expired = expiresAt !== undefined && expiryProblem(expiresAt, at, this.#rules.skewMs);
    if (expired) return expired;
    const read = readClaims(payload, { ranges: this.#ranges, kid: key.kid });
    if (isFailure(read)) return read;
    return (
      lifeProblem(read, at, this.#rules) ??
      audienceProblem(read, this.#rules) ??
      issuerProblem(read.claims, this.#rules, key) ??
      read
    );
  }

  #problemOf(claims: TokenClaims, query: TokenQuery): Failure | undefined {
    this.#revocations.clean(query.at);
    return (
      expiryProblem(claims.expiresAt, query.at, this.#rules.skewMs) ??
      issuerProblem(claims, this.#rules) ??
      callerProblem(claims, query) ??
      toolProblem(claims, query) ??
      versionProblem(claims, query, this.#ranges) ??
      operationProblem(claims) ??
      (this.#revocations.has(claims.jti) ? revokedToken(claims.jti) : undefined)
    );
  }
}

function missingToken(): Failure {
  return invalidToken(
    "The call came without a capability token.",
    "Send one with the call. Its issuer gives it out; an operator can make one with `sallyport token mint`.",
  );
}
