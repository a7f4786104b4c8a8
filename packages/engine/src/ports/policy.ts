import type { ErrorCode } from "@sallyport/protocol";
import type { AuthorityRequest } from "./authority.ts";

export const TIERS = ["user", "project", "operator", "organisation"] as const;
/** Whose word a rule or a standing grant is, from the weakest to the strongest. */
export type Tier = (typeof TIERS)[number];

/** What a policy is asked about: the call, without its own name and the secret that came with it. */
export type PolicyRequest = Omit<AuthorityRequest, "callId" | "token" | "verified">;

export interface PolicyVerdict {
  outcome: "allow" | "ask" | "deny";
  reason: string;
  /** The rules that decided, by id; empty when it was the policy's default. */
  rules: string[];
  policyVersion: string;
  /** The highest tier that decided so: a standing grant of a lower tier does not answer its question. */
  tier: Tier;
  code?: ErrorCode;
  /** JSON Pointer of the argument that decided. */
  argument?: string;
  unlock?: string;
  nearest?: string;
  /** Of an ask: the call is tried out first, without effect, and the person sees what it would change. */
  preview?: true;
  /** How long the verdict may be remembered; left out: as long as the cache's own rule says. */
  cacheMs?: number;
}

/** One source of rules. A rejection, or no answer in time, counts as a deny (E3206). */
export interface Policy {
  readonly name: string;
  decide(request: PolicyRequest): PolicyVerdict | Promise<PolicyVerdict>;
}
