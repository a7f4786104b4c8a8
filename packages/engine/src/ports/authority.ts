import type {
  Caller,
  ErrorCode,
  Failure,
  IsolationLevel,
  JsonValue,
  Permissions,
  ResourceLimits,
  Risk,
  SideEffects,
  SourceType,
  ToolCategory,
} from "@sallyport/protocol";
import type { Bus } from "./bus.ts";
import type { Tier } from "./policy.ts";
import type { AgentBounds } from "./sandbox.ts";
import type { Store } from "./store.ts";
import type { TokenClaims } from "./tokens.ts";

/** Everything a decision may depend on. */
export interface AuthorityRequest {
  /** Left out where the question is not about a call that is under way. */
  callId?: string;
  caller: Caller;
  /** The capability token as it came; used to decide and never kept. */
  token?: string;
  /** Instead of a token: what one said when the call was first asked for, before it had to wait. */
  verified?: TokenClaims;
  tool: string;
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
  input: JsonValue;
  at: number;
}

/** A decision with its reasons: the same words for the model, the person and the log. */
export interface Decision {
  outcome: "allow" | "ask" | "deny";
  reason: string;
  /** The grants or rules that decided, by id. */
  rules: string[];
  capabilities: string[];
  missing: string[];
  policyVersion: string;
  /** What would make it an allow. */
  unlock?: string;
  /** Of a deny, when it is not simply that nothing allows the call. */
  code?: ErrorCode;
  /** JSON Pointer of the argument that decided. */
  argument?: string;
  /** The nearest thing that would be allowed. */
  nearest?: string;
  retryAfterMs?: number;
  /** Of an ask: whose word it is. */
  tier?: Tier;
  /** Of an ask: the call is tried out first, without effect, and the person sees what it would change. */
  preview?: true;
  /** Stored grants the decision rests on: revoking one ends the call, and each use is counted. */
  grants?: string[];
  /** Where that is more than `grants`: those they were delegated from too, each use being counted. */
  counted?: string[];
  /** The token the decision rests on. */
  token?: TokenClaims;
  /** What the agent may use at most: its tools run inside these bounds. */
  bounds?: AgentBounds;
}

/** One use of a capability by a running tool. */
export interface CapabilityUse {
  decision: Decision;
  callId: string;
  tenant: string;
  tool: string;
  capability: string;
  /** What is done with it, such as `read`; left out: nothing in particular. */
  action?: string;
  /** What it is done to, such as a key, a path or a host. */
  resource?: string;
  /** How large the file is, where the tool told it. */
  bytes?: number;
  at: number;
}

/** Who asks for which tool, before anything is known of the tool itself. */
export interface Approach {
  caller: Caller;
  token?: string;
  verified?: TokenClaims;
  tool: string;
  at: number;
}

/** Says whether a call may go on. A rejection, or no answer in time, counts as a deny. */
export interface Authority {
  decide(request: AuthorityRequest): Decision | Promise<Decision>;
  /**
   * Why the caller may not even know whether there is such a tool; undefined when it may. It sees nothing of the
   * registry, so its refusals cannot tell a tool that exists from one that does not.
   */
  stranger?(approach: Approach): Failure | undefined;
  /** Told once a call that was decided about really begins to run. */
  began?(decision: Decision, call: { callId: string; at: number }): void;
  /** Reads what is stored and follows its changes; resolves, with how to stop, once it is up to date. */
  connect?(house: { store: Store; bus: Bus }): Promise<() => void>;
  /** Why a running tool may not use a capability this way, although the call was granted it; undefined: it may. */
  refuseUse?(use: CapabilityUse): Failure | undefined;
}
