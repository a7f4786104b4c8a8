import type { Caller, JsonValue, Risk, SideEffects } from "@sallyport/protocol";

/** Everything a decision may depend on. */
export interface AuthorityRequest {
  caller: Caller;
  tool: string;
  version: string;
  operation: string;
  requiredCapabilities: readonly string[];
  sideEffects: SideEffects;
  risk: Risk;
  input: JsonValue;
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
}

/** Says whether a call may go on. A rejection, or no answer in time, counts as a deny. */
export interface Authority {
  decide(request: AuthorityRequest): Decision | Promise<Decision>;
}
