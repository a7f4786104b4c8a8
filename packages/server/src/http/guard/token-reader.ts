import type { KeySet, TokenChecker } from "@sallyport/engine";
import { APPROVAL_ISSUER, readApprovalToken, type TokenQuery } from "@sallyport/engine/host";
import { type Failure, failure, isFailure, type JsonObject, parseJsonObject } from "@sallyport/protocol";
import type { Principal } from "../principal.ts";

export interface TokenReaderOptions {
  /** Undefined where no token could ever be checked. */
  checker?: TokenChecker | undefined;
  /** The server's own keys and no others: outside issuers have no say in approvals. RouteRequest each time. */
  approvalKeys?: (() => KeySet | undefined) | undefined;
  now?: () => number;
}

/** What a token claims, as far as the checker has to be asked with it. */
type Claimed = Pick<TokenQuery, "caller" | "tool">;

const REMEMBERED = 10_000;
/** Characters of the signature that find an entry. */
const KEY_CHARS = 32;

/**
 * Says whom a token speaks for: that it is genuine, in force and not revoked. What it is good for is left to the engine,
 * so it is asked about the very agent and tool it names.
 */
export class TokenReader {
  readonly #options: TokenReaderOptions;
  readonly #now: () => number;
  /** What accepted tokens claim, so that each is taken apart once. */
  readonly #known = new Map<string, { token: string; claimed: Claimed }>();

  constructor(options: TokenReaderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** An agent or an approver; E3201, E3202, E3207 or E3208 for a token that does not hold. */
  read(token: string): Principal | Failure {
    const known = this.#known.get(token.slice(-KEY_CHARS));
    if (known?.token === token) return this.#agent(token, known.claimed);
    const payload = peek(token);
    return payload.iss === APPROVAL_ISSUER ? this.#approver(token) : this.#agent(token, claimedBy(payload));
  }

  #agent(token: string, claimed: Claimed): Principal | Failure {
    const { checker } = this.#options;
    if (!checker) return unchecked();
    const claims = checker.check(token, { ...claimed, at: this.#now() });
    if (isFailure(claims)) return claims;
    this.#remember(token, claimed);
    return { kind: "agent", claims, token };
  }

  #approver(token: string): Principal | Failure {
    const keys = this.#options.approvalKeys?.();
    if (!keys) return unchecked();
    const pass = readApprovalToken(token, keys, this.#now());
    return isFailure(pass) ? pass : { kind: "approver", pass };
  }

  #remember(token: string, claimed: Claimed): void {
    const key = token.slice(-KEY_CHARS);
    if (this.#known.has(key)) return;
    this.#known.set(key, { token, claimed });
    const [oldest] = this.#known.keys();
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
  }
}

function unchecked(): Failure {
  return failure("E3201", {
    message: "There are no keys to check tokens with.",
    advice: "Make keys with `sallyport keys init`, or name the issuer's in the configuration.",
  });
}

/** What the token says of itself. Nothing of it is believed: it only words the question to the checker. */
function peek(token: string): JsonObject {
  const [, part = ""] = token.split(".", 2);
  return parseJsonObject(Buffer.from(part, "base64url").toString("utf8")) ?? {};
}

function claimedBy({ agent_did, tenant_id, tool_id }: JsonObject): Claimed {
  return { caller: { agent: textOf(agent_did), tenant: textOf(tenant_id) }, tool: textOf(tool_id) };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
