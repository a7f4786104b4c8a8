import { type Caller, type Failure, failure, isFailure } from "@sallyport/protocol";
import { satisfies } from "semver";
import { LruMap } from "../../lru-map.ts";
import type { TokenClaims } from "../../ports/authority.ts";
import type { Revocation } from "../../ports/grants.ts";
import { expiryOf, readClaims } from "./claims.ts";
import { invalidToken, verifyToken } from "./jws.ts";
import type { KeySet } from "./keys.ts";
import {
  DEFAULT_TOKEN_RULES,
  expiryProblem,
  MOMENTARY_CHECKS,
  TOKEN_CHECKS,
  type TokenCheck,
  type TokenQuery,
  type TokenRules,
  type TokenSubject,
  type TokenTerms,
} from "./token-checks.ts";

export interface TokenCheckerOptions extends Partial<TokenRules> {
  /** The keys in force. A function is asked at each check, so that rotated keys count at once. */
  keys: KeySet | (() => KeySet);
  /** How many verified tokens are remembered; 0: none. */
  cacheSize?: number;
}

const DEFAULT_CACHE_SIZE = 10_000;
const MAX_VERSIONS = 10_000;
const FIRST_CLEANING = 1_024;
/** Characters of the signature that find a remembered token: 190 bits, so that two tokens do not meet by chance. */
const CACHE_KEY_CHARS = 32;

/** A verified token. */
interface Remembered extends TokenSubject {
  token: string;
  /** The use that passed all checks last: until time or a revocation ends it, it passes again. */
  passed?: Pick<TokenQuery, "tool" | "version"> & Caller;
}

/**
 * Says whether a capability token allows what is asked (L3-PRM-1). Nothing here waits, and nothing throws. A new checker
 * knows no revocations: tell it those on record before the first check.
 */
export class TokenChecker {
  readonly #rules: TokenRules;
  readonly #keys: () => KeySet;
  /** Verified tokens. Found by the end of the signature, which spares hashing the token; the whole token is compared. */
  readonly #verified: LruMap<string, Remembered>;
  readonly #versions = new LruMap<string, boolean>(MAX_VERSIONS);
  /** By jti: when the revocation can be forgotten, because the token has expired for everybody. */
  readonly #revocations = new Map<string, number>();
  #cleanAt = FIRST_CLEANING;
  #verifiedWith: KeySet | undefined;
  readonly #terms: TokenTerms;

  constructor({ keys, cacheSize = DEFAULT_CACHE_SIZE, ...rules }: TokenCheckerOptions) {
    this.#rules = { ...DEFAULT_TOKEN_RULES, ...rules };
    this.#keys = typeof keys === "function" ? keys : () => keys;
    this.#verified = new LruMap(cacheSize);
    this.#terms = {
      rules: this.#rules,
      isRevoked: (jti) => this.#revocations.has(jti),
      versionFits: (range, version) =>
        this.#versions.getOrAdd(`${range} ${version}`, () => satisfies(version, range)),
    };
  }

  /** The claims of a token that allows what is asked; else the first check that failed. No token is a failure. */
  check(token: string | undefined, query: TokenQuery): TokenClaims | Failure {
    if (typeof token !== "string" || token === "")
      return invalidToken(
        "The call came without a capability token.",
        "Send one with the call. Its issuer gives it out; an operator can make one with `sallyport token mint`.",
      );
    const known = this.#verify(token, query.at);
    if (isFailure(known)) return known;
    const hasPassed = isWithin(query, known.passed);
    const problem = this.#problemOf(known, query, hasPassed ? MOMENTARY_CHECKS : TOKEN_CHECKS);
    if (problem) return problem;
    const { caller, tool, version } = query;
    if (!hasPassed) known.passed = { ...caller, tool, version };
    return known.claims;
  }

  /** The claims of a genuine token that is in force, whatever it is used for; undefined for any other. */
  read(token: string, at: number): TokenClaims | undefined {
    const known = this.#verify(token, at);
    if (isFailure(known)) return undefined;
    const { claims, passed } = known;
    const query = { caller: claims, tool: claims.tool, at };
    const problem = this.#problemOf(known, query, passed ? MOMENTARY_CHECKS : TOKEN_CHECKS);
    return problem ? undefined : claims;
  }

  /** Checks claims that were verified earlier against everything that may have changed since. */
  recheck(claims: TokenClaims, query: TokenQuery): TokenClaims | Failure {
    const keys = this.#keysInForce();
    if (isFailure(keys)) return keys;
    if (!keys.find(claims.kid))
      return invalidToken("The key the token was signed with is not in force any more.");
    return this.#problemOf({ claims }, query, TOKEN_CHECKS) ?? claims;
  }

  /** From now on a token of this name is refused with E3208; for ever, unless it is said when it expires. */
  revoke(jti: string, forgetAt = Number.POSITIVE_INFINITY): void {
    // A token passes until its expiry and the skew are over, so it must be known as revoked as long.
    const until = forgetAt + this.#rules.skewMs;
    this.#revocations.set(jti, Math.max(until, this.#revocations.get(jti) ?? 0));
  }

  /** As `revoke`, for revocations that are on record. */
  revoked(list: Iterable<Pick<Revocation, "jti" | "forgetAt">>): void {
    for (const { jti, forgetAt } of list) this.revoke(jti, forgetAt);
  }

  /** Tokens that were verified with other keys have to be verified again. */
  #keysInForce(): KeySet | Failure {
    try {
      const keys = this.#keys();
      if (keys !== this.#verifiedWith) this.#verified.clear();
      this.#verifiedWith = keys;
      return keys;
    } catch (error) {
      return failure("E3227", {
        message: "The keys that tokens are checked with are not available.",
        details: { cause: error instanceof Error ? error.message : String(error) },
      });
    }
  }

  #verify(token: string, at: number): Remembered | Failure {
    const keys = this.#keysInForce();
    if (isFailure(keys)) return keys;
    const cacheKey = token.slice(-CACHE_KEY_CHARS);
    const known = this.#verified.get(cacheKey);
    if (known?.token === token) return known;
    const verified = verifyToken(token, keys);
    if (isFailure(verified)) return verified;
    const { payload, key } = verified;
    const expiresAt = expiryOf(payload);
    const expired = expiresAt !== undefined && expiryProblem(expiresAt, at, this.#rules.skewMs);
    if (expired) return expired;
    const read = readClaims(payload, key.kid);
    if (isFailure(read)) return read;
    const remembered = { ...read, key, token };
    this.#verified.set(cacheKey, remembered);
    return remembered;
  }

  /** The first problem that the expiry or one of the checks finds. */
  #problemOf(subject: TokenSubject, query: TokenQuery, checks: readonly TokenCheck[]): Failure | undefined {
    this.#forgetRevocations(query.at);
    const expired = expiryProblem(subject.claims.expiresAt, query.at, this.#rules.skewMs);
    if (expired) return expired;
    for (const { problem } of checks) {
      const found = problem(subject, query, this.#terms);
      if (found) return found;
    }
    return undefined;
  }

  /** Runs now and then, so that the list stays about as long as what it has to know. */
  #forgetRevocations(at: number): void {
    if (this.#revocations.size < this.#cleanAt) return;
    for (const [jti, until] of this.#revocations) if (until < at) this.#revocations.delete(jti);
    this.#cleanAt = Math.max(FIRST_CLEANING, this.#revocations.size * 2);
  }
}

/** Whether a use is no more than one that passed. */
function isWithin({ caller, tool, version }: TokenQuery, passed: Remembered["passed"]): boolean {
  return (
    passed !== undefined &&
    tool === passed.tool &&
    (version === undefined || version === passed.version) &&
    caller.agent === passed.agent &&
    caller.tenant === passed.tenant &&
    (caller.user === undefined || caller.user === passed.user)
  );
}
