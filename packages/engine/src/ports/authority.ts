import type {
  Caller,
  ErrorCode,
  Failure,
  IsolationLevel,
  JsonValue,
  LimitName,
  Permissions,
  ResourceLimits,
  Risk,
  SideEffects,
  SourceType,
  ToolCategory,
} from "@sallyport/protocol";
import type { GrantReader, RevocationReader, Tier, UseLimit } from "./grants.ts";
import type { Bus } from "./platform.ts";
import type { UseOf } from "./runner.ts";
import type { AgentBounds } from "./sandbox.ts";

/** What a verified capability token says (L3 §4.1.1). The token's own text is never kept. */
export interface TokenClaims {
  /** Names the token, so that it can be revoked. */
  jti: string;
  issuer: string;
  /** The key it was verified with: once that is not in force any more, neither is what the token said. */
  kid: string;
  /** Tool id, or a pattern with `*`. */
  tool: string;
  /** SemVer range of the tool's versions. */
  versions: string;
  agent: string;
  tenant: string;
  /** The person the agent acts for. */
  user?: string;
  operations: string[];
  permissions: Permissions;
  issuedAt: number;
  expiresAt: number;
}

/** Who asks for which tool, before anything is known of the tool itself. */
export interface AccessRequest {
  caller: Caller;
  /** The capability token as it came; used to decide and never kept. */
  token?: string;
  /** Instead of a token: what one said when the call was first asked for, before it had to wait. */
  verified?: TokenClaims;
  tool: string;
  at: number;
}

/** Everything a decision may depend on. */
export interface AuthorityRequest extends AccessRequest {
  /** Left out where the question is not about a call that is under way. */
  callId?: string;
  /** Whether a token names the caller's user. Left out: only the agent says who the user is. */
  userVerified?: boolean;
  version: string;
  operation: string;
  manifestHash: string;
  category: ToolCategory;
  tags: readonly string[];
  source: SourceType;
  securityLevel: number;
  /** What the tool may touch while it runs, by its manifest. */
  permissions: Permissions;
  /** What the call may use at most. */
  limits?: Readonly<Partial<ResourceLimits>>;
  requiredCapabilities: readonly string[];
  sideEffects: SideEffects;
  risk: Risk;
  /** What the tool's runner offers on this host. */
  isolation: IsolationLevel;
  /** Limits that nothing would hold or measure there. Left out: not known, and none is taken for unheld. */
  unheldLimits?: readonly LimitName[];
  input: JsonValue;
}

/** A stored grant whose uses are counted. */
export interface CountedGrant extends UseLimit {
  grantId: string;
}

/** What a policy, or the authority as a whole, says of a call: the same words for the model, the person and the log. */
interface Ruling {
  outcome: "allow" | "ask" | "deny";
  reason: string;
  /** The grants or rules that decided, by id; empty when it was a default. */
  rules: string[];
  policyVersion: string;
  /** Of a deny that has another reason than that nothing allows the call. */
  code?: ErrorCode;
  /** JSON Pointer of the argument that decided. */
  argument?: string;
  /** What would make it an allow. */
  unlock?: string;
  /** The nearest thing that would be allowed. */
  nearest?: string;
  /** Of an ask: the call is tried out first, without effect, and the person sees what it would change. */
  preview?: true;
}

export interface Decision extends Ruling {
  capabilities: string[];
  missing: string[];
  retryAfterMs?: number;
  /** Of an ask: the tier of the rules that ask. */
  tier?: Tier;
  /** Stored grants the decision rests on: revoking one ends the call, and each use is counted. */
  grants?: string[];
  /** Those grants and all they were delegated from, with their limits: beginning the call uses each once. */
  counted?: CountedGrant[];
  /** Of an allow: the standing grant that answered a policy's question. */
  standing?: string;
  /** The token the decision rests on. */
  token?: TokenClaims;
  /** What the agent may use at most: its tools run inside these bounds. */
  bounds?: AgentBounds;
}

/** One use of a capability by a running tool. */
export interface CapabilityUse extends UseOf {
  decision: Decision;
  callId: string;
  tenant: string;
  tool: string;
  capability: string;
  at: number;
}

/** Who a caller was shown to be. */
export interface Proof {
  tenant: string;
  /** The user whom its token names. */
  user?: string;
}

/** What an authority may read, and where it hears of changes. */
export interface AuthoritySources {
  grants: GrantReader;
  revocations: RevocationReader;
  bus: Bus;
  /** How often to look for changes that no message told of; left out: nobody else changes anything. */
  followMs?: number;
}

/** Says whether a call may go on. A rejection, or no answer in time, counts as a deny. */
export interface Authority {
  decide(request: AuthorityRequest): Decision | Promise<Decision>;
  /**
   * Why the caller may not even know whether there is such a tool; undefined when it may. It sees nothing of the
   * registry, so its refusals cannot tell a tool that exists from one that does not.
   */
  accessRefusal?(request: AccessRequest): Failure | undefined;
  /**
   * Who the caller is, by a genuine token or, where no token is needed, by a configured grant; whatever it asks for.
   * Undefined: nothing proves it, and the tenant it names is not believed. Left out: every caller is believed, because
   * whoever made the request knows it.
   */
  prove?(request: Pick<AccessRequest, "caller" | "token" | "at">): Proof | undefined;
  /**
   * Takes a use of each stored grant the decision rests on, when the call is about to run. Checks and counts in one step:
   * of several grants that give one capability those that are used up are left out of the decision. A failure when none
   * is left; then nothing was counted.
   */
  reserve?(decision: Decision, call: { callId: string; at: number }): Decision | Failure;
  /** Gives back the uses that a call took which never started. */
  release?(grantIds: readonly string[], callId: string): void;
  /** Reads what is stored and follows its changes; resolves, with how to stop, once it is up to date. */
  connect?(sources: AuthoritySources): Promise<() => void>;
  /** Why a running tool may not use a capability this way, although the call was granted it; undefined: it may. */
  refuseUse?(use: CapabilityUse): Failure | undefined;
}

/** What a policy is asked about: the call, without its own name and the secret that came with it. */
export type PolicyRequest = Omit<AuthorityRequest, "callId" | "token" | "verified">;

export interface PolicyVerdict extends Ruling {
  /** The highest tier that decided so: a standing grant of a lower tier does not answer its question. */
  tier: Tier;
  /** How long the verdict may be remembered; left out: as long as the cache's own rule says. */
  cacheMs?: number;
}

/** One source of rules. A rejection, or no answer in time, counts as a deny (E3206). */
export interface Policy {
  readonly name: string;
  decide(request: PolicyRequest): PolicyVerdict | Promise<PolicyVerdict>;
}
