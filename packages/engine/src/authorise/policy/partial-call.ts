import {
  DEFAULT_OPERATION,
  type IsolationLevel,
  type JsonValue,
  type Permissions,
  type Risk,
  type SideEffects,
  type SourceType,
  type ToolCategory,
} from "@sallyport/protocol";
import type { PolicyRequest } from "../../ports/policy.ts";

/** As much of a call as somebody cares to say, as in the examples of a rule. */
export interface PartialCall {
  tool?: string;
  version?: string;
  operation?: string;
  input?: JsonValue;
  tenant?: string;
  agent?: string;
  user?: string;
  session?: string;
  category?: ToolCategory;
  tags?: string[];
  source?: SourceType;
  securityLevel?: number;
  permissions?: Partial<Permissions>;
  capabilities?: string[];
  sideEffects?: SideEffects;
  risk?: Risk;
  isolation?: IsolationLevel;
  manifestHash?: string;
  at?: number;
}

/** A Wednesday at noon. */
const WORKING_HOURS = Date.UTC(2026, 0, 7, 12);

/** The whole call: what was not said is harmless. */
export function completeCall(partial: PartialCall): PolicyRequest {
  const { tenant, agent, user, session, capabilities, permissions, ...said } = partial;
  return {
    tool: "example",
    version: "1.0.0",
    operation: DEFAULT_OPERATION,
    manifestHash: "",
    category: "computation",
    tags: [],
    source: "native",
    securityLevel: 0,
    sideEffects: "none",
    risk: "low",
    isolation: "LEVEL_2",
    input: {},
    at: WORKING_HOURS,
    ...said,
    caller: {
      tenant: tenant ?? "example",
      agent: agent ?? "example",
      ...(user !== undefined && { user }),
      ...(session !== undefined && { session }),
    },
    requiredCapabilities: capabilities ?? [],
    permissions: { filesystem: [], network: [], credentials: [], ...permissions },
  };
}
