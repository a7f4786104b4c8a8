import type { Policy, PolicyRequest, PolicyVerdict, Tier } from "@sallyport/engine/ports";
import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { askJson } from "../opa/ask-json.ts";
import { callerFacts, resourceFacts, toolFacts } from "../opa/call-facts.ts";
import { cacheMs, nonsense, shortened } from "../opa/read-answer.ts";

const PATH = "api/v1/abac/check-permission";
const DEFAULT_TTL_SECONDS = 300;

export interface AbacOptions {
  /** Of the data layer; the path of the check is put after it. */
  baseUrl: string;
  /** 500 when left out. */
  timeoutMs?: number;
  /** Whose word it is; `organisation` when left out. */
  tier?: Tier;
  headers?: Readonly<Record<string, string>>;
  fetch?: typeof fetch;
}

/**
 * Asks an attribute-based access control service whether the agent may execute the tool (L3 §4.2.2). It sees what the
 * call may touch but not its arguments. Rejects (E3206) whenever a clear answer does not come in time, which the
 * engine takes for a no. Throws for a base that is no URL.
 */
export function createAbacPolicy(options: AbacOptions): Policy {
  const { baseUrl, timeoutMs = 500, tier = "organisation", headers = {} } = options;
  const url = new URL(PATH, baseUrl.endsWith("/") ? baseUrl : `${baseUrl}/`);
  const service = { name: "The ABAC service", url, timeoutMs, headers, fetch: options.fetch ?? fetch };
  return {
    name: "abac",
    async decide(request) {
      return verdictOf(await askJson(service, questionOf(request)), tier);
    },
  };
}

function questionOf(request: PolicyRequest): JsonObject {
  return {
    agent_id: request.caller.agent,
    resource_type: "tool",
    resource_id: request.tool,
    action: "execute",
    context: { ...callerFacts(request), ...toolFacts(request), ...resourceFacts(request) },
  };
}

function verdictOf(answer: JsonValue, tier: Tier): PolicyVerdict {
  if (!isJsonObject(answer) || typeof answer.allowed !== "boolean") {
    throw nonsense("it does not say whether it is allowed");
  }
  const { allowed, cache_ttl_seconds: seconds = DEFAULT_TTL_SECONDS } = answer;
  const common = { rules: [], policyVersion: "abac", tier, cacheMs: cacheMs(seconds) };
  const reason = reasonOf(answer);
  return allowed
    ? { ...common, outcome: "allow", reason: reason ?? "the ABAC service allows it" }
    : { ...common, outcome: "deny", reason: reason ?? "the ABAC service denies it", code: "E3225" };
}

/** The service may put the id of a policy here as well as a sentence. */
function reasonOf({ reason }: JsonObject): string | undefined {
  if (reason === undefined || reason === null) return undefined;
  if (typeof reason !== "string") throw nonsense("its reason is not a text");
  return reason === "" ? undefined : shortened(reason);
}
