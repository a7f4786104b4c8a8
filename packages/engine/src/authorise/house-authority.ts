import { hash } from "node:crypto";
import { canonicalJson, type Failure, failure, isFailure, type JsonValue } from "@sallyport/protocol";
import type { Approach, Authority, AuthorityRequest, CapabilityUse, Decision } from "../ports/authority.ts";
import type { Bus } from "../ports/bus.ts";
import type { Policy, PolicyVerdict } from "../ports/policy.ts";
import type { Store } from "../ports/store.ts";
import type { TokenClaims } from "../ports/tokens.ts";
import { type AgentProfile, beyondTheAgent, boundsOf, profileOf } from "./agent-profile.ts";
import type { GrantShelf } from "./capability/grant-shelf.ts";
import { type ConfiguredGrant, covers, reaches } from "./grants.ts";
import { askAll } from "./policy/index.ts";
import type { TokenChecker } from "./token/index.ts";
import { weigh } from "./weigh.ts";

export interface AuthorityOptions {
  grants: readonly ConfiguredGrant[];
  policies?: readonly Policy[];
  tokens?: { checker: TokenChecker; required: boolean };
  agents?: readonly AgentProfile[];
  /** The stored grants; without it only configured ones count. */
  shelf?: GrantShelf;
  /** The folder or project calls are made in, for standing grants that hold only there. */
  project?: string;
  /** How long a policy may take before its silence counts as a no. */
  policyMs?: number;
  /** Told why a policy could not be asked; the caller is told only that it could not. */
  onProblem?: (policy: string, error: unknown) => void;
}

/** What can be replaced, all at once. */
interface Rules extends Omit<AuthorityOptions, "shelf" | "tokens" | "agents" | "policies"> {
  agents: readonly AgentProfile[];
  policies: readonly Policy[];
  grantsVersion: string;
}

/**
 * The house's own authority. In this order: the token says who asks and for what; the agent's profile bounds it; the
 * policies say allow, ask or deny, the strictest of them counting; grants give the capabilities. What nothing opens
 * stays shut, and no grant is stronger than a deny.
 */
export class HouseAuthority implements Authority {
  readonly #shelf: GrantShelf | undefined;
  readonly #tokens: AuthorityOptions["tokens"];
  #rules: Rules;

  constructor({ shelf, tokens, ...rules }: AuthorityOptions) {
    this.#shelf = shelf;
    this.#tokens = tokens;
    const { grants, agents = [], policies = [] } = rules;
    const plain: JsonValue = JSON.parse(JSON.stringify({ agents, grants }));
    const grantsVersion = hash("sha256", canonicalJson(plain)).slice(0, 16);
    this.#rules = { ...rules, agents, policies, grantsVersion };
  }

  /**
   * Decides from here on by the configured grants, agents and policies of another authority; its own stored grants and
   * tokens stay. A decision that is under way keeps to the rules it began with, all of them.
   */
  adopt(next: HouseAuthority): void {
    this.#rules = next.#rules;
  }

  /** Reads what is stored and follows its changes; resolves once it is up to date. Returns how to stop. */
  async connect({ store, bus }: { store: Store; bus: Bus }): Promise<() => void> {
    const tokens = this.#tokens;
    const shelf = this.#shelf;
    const stops = [
      bus.subscribe("token:revocations", ({ jti }) => {
        if (typeof jti === "string") tokens?.checker.revoke(jti);
      }),
      bus.subscribe("grants:updates", ({ changed, revoked }) => {
        const ids = [changed, revoked].flatMap((list) => (Array.isArray(list) ? list.map(String) : []));
        void shelf?.refresh(ids, store.grants);
      }),
    ];
    tokens?.checker.revoked(await store.revocations.all());
    shelf?.load(await store.grants.all());
    return () => {
      for (const stop of stops) stop();
    };
  }

  stranger({ caller, token, verified, tool, at }: Approach): Failure | undefined {
    const claims = this.#identify({ token, verified }, { caller, tool, at });
    if (claims && isFailure(claims)) return claims;
    if (claims || this.#rules.grants.some((grant) => reaches(grant, { caller, tool }))) return undefined;
    return failure("E3209", {
      message: `Denied: no grant lets agent ${caller.agent} of tenant ${caller.tenant} call ${tool}.`,
      details: { rules: [], missing: [], approvalUnlocks: false },
    });
  }

  decide(request: AuthorityRequest): Decision | Promise<Decision> {
    const claims = this.#identify(request, request);
    if (claims && isFailure(claims)) return this.#refusal(claims);
    const rules = this.#rules;
    const profile = profileOf(rules.agents, request.caller);
    const beyond = beyondTheAgent(request, { profile, claims });
    if (beyond) return this.#refusal(beyond);
    const { policies, policyMs = 500, onProblem } = rules;
    if (policies.length === 0) return this.#weigh(request, rules, { claims, profile });
    const { callId: _callId, token: _token, verified: _verified, ...asked } = request;
    const verdict = askAll(policies, asked, { timeoutMs: policyMs, ...(onProblem && { onProblem }) });
    if (!(verdict instanceof Promise)) return this.#weigh(request, rules, { claims, profile, verdict });
    return verdict.then((late) => {
      // The token may have been revoked while the policy was asked.
      const gone = claims && this.#identify({ verified: claims }, request);
      if (gone && isFailure(gone)) return this.#refusal(gone);
      return this.#weigh(request, rules, { claims, profile, verdict: late });
    });
  }

  began({ grants = [] }: Decision, call: { callId: string; at: number }): void {
    if (grants.length > 0) this.#shelf?.began(grants, call);
  }

  refuseUse(use: CapabilityUse): Failure | undefined {
    const { grants } = use.decision;
    return grants && grants.length > 0 ? this.#shelf?.refuseUse(use, grants) : undefined;
  }

  #identify(
    { token, verified }: { token?: string | undefined; verified?: TokenClaims | undefined },
    query: { caller: AuthorityRequest["caller"]; tool: string; version?: string; at: number },
  ): TokenClaims | Failure | undefined {
    const tokens = this.#tokens;
    if (!tokens) return token === undefined && !verified ? undefined : noKeys();
    if (verified) return tokens.checker.recheck(verified, query);
    return token !== undefined || tokens.required ? tokens.checker.check(token, query) : undefined;
  }

  #refusal({ code, message, advice, details }: Failure): Decision {
    const retryAfterMs = details?.retryAfterMs;
    return {
      outcome: "deny",
      code,
      reason: message,
      rules: [],
      capabilities: [],
      missing: [],
      policyVersion: this.#rules.grantsVersion,
      unlock: advice,
      ...(typeof retryAfterMs === "number" && { retryAfterMs }),
    };
  }

  #weigh(
    request: AuthorityRequest,
    { grants, project, grantsVersion }: Rules,
    found: {
      claims: TokenClaims | undefined;
      profile: AgentProfile | undefined;
      verdict?: PolicyVerdict;
    },
  ): Decision {
    const bounds = boundsOf(request.caller.agent, found.profile);
    const decision = weigh(request, {
      ...found,
      matching: grants.filter((grant) => covers(grant, request)),
      shelf: this.#shelf,
      project,
      grantsVersion,
    });
    return bounds ? { ...decision, bounds } : decision;
  }
}

/** A token that nobody can check says nothing; going on without it would be to guess who asks. */
function noKeys(): Failure {
  return failure("E3201", {
    message: "There is no key here to check a token with.",
    advice: "Call without a token, or make keys with `sallyport keys init` and get a token signed by them.",
  });
}

/**
 * Decides by configured grants alone, and lets every caller know every tool. Deny by default: without a grant for the
 * tool nothing runs, not even a tool that needs no capability.
 */
export function grantAuthority(grants: readonly ConfiguredGrant[]): Authority {
  const house = new HouseAuthority({ grants });
  return { decide: (request) => house.decide(request) };
}
