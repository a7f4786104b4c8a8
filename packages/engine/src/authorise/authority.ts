import { type Caller, type Failure, failure, isFailure } from "@sallyport/protocol";
import { ChangeFollower, everySoOften } from "../change-follower.ts";
import type {
  AccessRequest,
  Authority,
  AuthorityRequest,
  AuthoritySources,
  CapabilityUse,
  Decision,
  Policy,
  Proof,
  TokenClaims,
} from "../ports/authority.ts";
import { type AgentProfile, exceedsAgent } from "./agent-profile.ts";
import { type ConfiguredGrant, ConfiguredRules } from "./configured-rules.ts";
import { combine } from "./decision.ts";
import { GrantFollower, type GrantIndex, limitFailure } from "./grant/index.ts";
import { askAll } from "./policy/index.ts";
import type { TokenChecker } from "./token/index.ts";

/** What can be replaced while the authority is in use, all at once. */
interface RuleOptions {
  grants: readonly ConfiguredGrant[];
  policies?: readonly Policy[];
  agents?: readonly AgentProfile[];
  /** The folder or project calls are made in, for standing grants that hold only there. */
  project?: string;
  /** How long a policy may take before its silence counts as a no. */
  policyMs?: number;
  /** Told why a policy could not be asked; the caller is told only that it could not. */
  onProblem?: (policy: string, error: unknown) => void;
}

export interface AuthorityOptions extends RuleOptions {
  tokens?: { checker: TokenChecker; required: boolean };
  /** The stored grants; without it only configured ones count. */
  grantIndex?: GrantIndex;
}

/**
 * Decides by the configuration, tokens and stored grants. In this order: the token says who asks and for what; the
 * agent's profile bounds it; the policies say allow, ask or deny, the strictest of them counts; grants give the
 * capabilities. Without a grant or token the answer is no, and no grant is stronger than a deny.
 */
export class ConfiguredAuthority implements Authority {
  readonly #grantIndex: GrantIndex | undefined;
  readonly #tokens: AuthorityOptions["tokens"];
  #rules: RuleOptions & { configured: ConfiguredRules };

  constructor({ grantIndex, tokens, ...rules }: AuthorityOptions) {
    this.#grantIndex = grantIndex;
    this.#tokens = tokens;
    this.#rules = { ...rules, configured: new ConfiguredRules(rules.grants, rules.agents ?? []) };
  }

  /**
   * Decides from here on by the configured grants, agents and policies of another authority; its own stored grants and
   * tokens stay. A decision that is under way keeps to the rules it began with, all of them.
   */
  adopt(next: ConfiguredAuthority): void {
    this.#rules = next.#rules;
  }

  async connect({ grants, revocations, bus, followMs = Infinity }: AuthoritySources): Promise<() => void> {
    const checker = this.#tokens?.checker;
    const stored = this.#grantIndex && new GrantFollower(this.#grantIndex, grants);
    const revoked =
      checker &&
      new ChangeFollower(
        (cursor) => revocations.changedSince(cursor),
        (changed) => checker.revoked(changed),
      );
    const report = (error: unknown) => this.#rules.onProblem?.("token revocations", error);
    // A message that names nothing, as one that was too long for its bus, says that something changed.
    const stops = [
      bus.subscribe("token:revocations", ({ jti, forgetAt }) => {
        if (typeof jti === "string")
          checker?.revoke(jti, typeof forgetAt === "number" ? forgetAt : undefined);
        else void revoked?.catchUp().catch(report);
      }),
      bus.subscribe("grants:updates", ({ changed, revoked: gone }) => {
        const lists = [changed, gone].filter((list) => Array.isArray(list));
        void stored?.heard(lists.length === 0 ? undefined : lists.flat().map(String));
      }),
      everySoOften(followMs, () => {
        // A store that is away now is read the next time; without it no call begins.
        void revoked?.catchUp().catch(() => undefined);
        void stored?.catchUp().catch(() => undefined);
      }),
    ];
    await revoked?.catchUp();
    await stored?.catchUp();
    return () => {
      for (const stop of stops) stop();
    };
  }

  accessRefusal(asked: AccessRequest): Failure | undefined {
    const { caller, tool } = asked;
    const claims = this.#identify(asked, asked);
    if (claims && isFailure(claims)) return claims;
    if (claims || this.#rules.configured.of(caller).isGranted(tool)) return undefined;
    return failure("E3209", {
      message: `Denied: no grant lets agent ${caller.agent} of tenant ${caller.tenant} call ${tool}.`,
      details: { rules: [], missing: [], approvalUnlocks: false },
    });
  }

  prove({ caller, token, at }: Pick<AccessRequest, "caller" | "token" | "at">): Proof | undefined {
    const tokens = this.#tokens;
    if (token !== undefined) {
      const claims = tokens?.checker.read(token, at);
      return claims && { tenant: claims.tenant, ...(claims.user !== undefined && { user: claims.user }) };
    }
    if (tokens?.required) return undefined;
    return this.#rules.configured.of(caller).isGranted() ? { tenant: caller.tenant } : undefined;
  }

  decide(request: AuthorityRequest): Decision | Promise<Decision> {
    const rules = this.#rules;
    const claims = this.#identify(request, request);
    if (claims && isFailure(claims)) return refusal(claims, rules);
    const caller = rules.configured.of(request.caller);
    const exceeded = exceedsAgent(request, { profile: caller.profile, claims });
    if (exceeded) return refusal(exceeded, rules);
    const { policies = [], policyMs = 500, onProblem, project, configured } = rules;
    const found = {
      claims,
      caller,
      grantIndex: this.#grantIndex,
      project,
      grantsVersion: configured.version,
    };
    if (policies.length === 0) return combine(request, found);
    const { callId: _callId, token: _token, verified: _verified, ...rest } = request;
    const { user } = request.caller;
    const asked = { ...rest, userVerified: user !== undefined && claims?.user === user };
    const verdict = askAll(policies, asked, { timeoutMs: policyMs, ...(onProblem && { onProblem }) });
    if (!(verdict instanceof Promise)) return combine(request, { ...found, verdict });
    return verdict.then((late) => {
      // The token may have been revoked while the policy was asked.
      const gone = claims && this.#identify({ verified: claims }, request);
      if (gone && isFailure(gone)) return refusal(gone, rules);
      return combine(request, { ...found, verdict: late });
    });
  }

  reserve(decision: Decision, call: { callId: string; at: number }): Decision | Failure {
    const { grants = [] } = decision;
    const grantIndex = this.#grantIndex;
    if (!grantIndex || grants.length === 0) return decision;
    const kept = grantIndex.reserve(grants, call);
    if (Array.isArray(kept)) {
      if (kept.length === grants.length) return decision;
      return { ...decision, grants: kept, counted: grantIndex.counted(kept) };
    }
    const { grantId = "", freeAt } = kept;
    return limitFailure({ grantIds: [grantId], freeAt }, call.at);
  }

  release(grantIds: readonly string[], callId: string): void {
    this.#grantIndex?.release(grantIds, callId);
  }

  refuseUse(use: CapabilityUse): Failure | undefined {
    const { grants = [] } = use.decision;
    return grants.length > 0 ? this.#grantIndex?.refuseUse(use, grants) : undefined;
  }

  #identify(
    { token, verified }: Pick<AccessRequest, "token" | "verified">,
    query: { caller: Caller; tool: string; version?: string; at: number },
  ): TokenClaims | Failure | undefined {
    const tokens = this.#tokens;
    if (tokens && verified) return tokens.checker.recheck(verified, query);
    if (tokens)
      return token !== undefined || tokens.required ? tokens.checker.check(token, query) : undefined;
    if (token === undefined && !verified) return undefined;
    // A token that nobody can check says nothing; going on without it would be to guess who asks.
    return failure("E3201", {
      message: "There is no key here to check a token with.",
      advice: "Call without a token, or make keys with `sallyport keys init` and get a token signed by them.",
    });
  }
}

function refusal(
  { code, message, advice, details }: Failure,
  { configured }: { configured: ConfiguredRules },
): Decision {
  const retryAfterMs = details?.retryAfterMs;
  return {
    outcome: "deny",
    code,
    reason: message,
    rules: [],
    capabilities: [],
    missing: [],
    policyVersion: configured.version,
    unlock: advice,
    ...(typeof retryAfterMs === "number" && { retryAfterMs }),
  };
}

/**
 * Decides by configured grants alone, and lets every caller know every tool. Deny by default: without a grant for the
 * tool nothing runs, not even a tool that needs no capability.
 */
export function grantAuthority(grants: readonly ConfiguredGrant[]): Authority {
  const authority = new ConfiguredAuthority({ grants });
  return { decide: (request) => authority.decide(request) };
}
