import type { Policy, PolicyRequest, Tier } from "@sallyport/engine/ports";
import type { JsonObject } from "@sallyport/protocol";
import { askJson } from "./ask-json.ts";
import { callerFacts, resourceFacts, toolFacts } from "./call-facts.ts";
import { readOpaAnswer } from "./read-answer.ts";

export const OPA_ENDPOINT = "http://localhost:8181/v1/data/tool_execution/allow";

export interface OpaOptions {
  /** Where the decision is in OPA's data API. */
  endpoint?: string;
  /** 500 when left out. */
  timeoutMs?: number;
  /** Whose word it is; `organisation` when left out. */
  tier?: Tier;
  /** Such as a bearer token for OPA itself. */
  headers?: Readonly<Record<string, string>>;
  fetch?: typeof fetch;
}

/**
 * Asks an Open Policy Agent over its REST data API (L3-PRM-2). Rejects (E3206) whenever a clear answer does not come
 * in time, which the engine takes for a no. Throws for an endpoint that is no URL.
 */
export function createOpaPolicy(options: OpaOptions = {}): Policy {
  const { endpoint = OPA_ENDPOINT, timeoutMs = 500, tier = "organisation", headers = {} } = options;
  const service = { name: "OPA", url: new URL(endpoint), timeoutMs, headers, fetch: options.fetch ?? fetch };
  return {
    name: "opa",
    async decide(request) {
      const answer = await askJson(service, { input: inputOf(request) });
      return { ...readOpaAnswer(answer), tier };
    },
  };
}

/** The whole call: a rule in OPA can look at as much as one in a rules file. */
function inputOf(request: PolicyRequest): JsonObject {
  return {
    agent_did: request.caller.agent,
    ...callerFacts(request),
    tool_id: request.tool,
    ...toolFacts(request),
    ...resourceFacts(request),
    filesystem: request.permissions.filesystem.map(({ path, mode }) => ({ path, mode })),
    parameters: request.input,
    requested_at: new Date(request.at).toISOString(),
  };
}
