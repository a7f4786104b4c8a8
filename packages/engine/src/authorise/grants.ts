import { hash } from "node:crypto";
import { canonicalJson } from "@sallyport/protocol";
import type { Authority, AuthorityRequest, Decision } from "../ports/authority.ts";
import { matchesAny } from "./patterns.ts";

/** A standing permission from the configuration: who may call what, and with which capabilities. */
export interface ConfiguredGrant {
  id: string;
  /** Names or patterns with `*`; all of them must be matched by a call. */
  tenants: string[];
  agents: string[];
  tools: string[];
  operations: string[];
  /** Capabilities it gives, by exact name: a parent gives none of its children. */
  capabilities: string[];
}

/**
 * Decides by configured grants. Deny by default: without a grant for the tool nothing runs, not even a tool that
 * needs no capability; each capability the tool requires must be given by a matching grant.
 */
export function grantAuthority(grants: readonly ConfiguredGrant[]): Authority {
  const policyVersion = hash("sha256", canonicalJson(grants.map((grant) => ({ ...grant })))).slice(0, 16);
  return {
    decide(request) {
      const matching = grants.filter((grant) => covers(grant, request));
      return matching.length === 0
        ? nothingMatches(request, policyVersion)
        : weigh(matching, request, policyVersion);
    },
  };
}

function covers(grant: ConfiguredGrant, { caller, tool, operation }: AuthorityRequest): boolean {
  return (
    matchesAny(grant.tools, tool) &&
    matchesAny(grant.operations, operation) &&
    matchesAny(grant.agents, caller.agent) &&
    matchesAny(grant.tenants, caller.tenant)
  );
}

function weigh(matching: ConfiguredGrant[], request: AuthorityRequest, policyVersion: string): Decision {
  const given = new Set(matching.flatMap((grant) => grant.capabilities));
  const missing = request.requiredCapabilities.filter((capability) => !given.has(capability));
  const rules = matching.map((grant) => grant.id);
  const capabilities = request.requiredCapabilities.filter((capability) => given.has(capability));
  if (missing.length === 0) {
    return { outcome: "allow", reason: "granted", rules, capabilities, missing, policyVersion };
  }
  const list = missing.join(", ");
  return {
    outcome: "deny",
    reason: `no grant gives ${list} to ${request.tool}`,
    rules,
    capabilities,
    missing,
    policyVersion,
    unlock: `Add ${list} to the capabilities of grant ${rules.join(" or ")}.`,
  };
}

function nothingMatches(request: AuthorityRequest, policyVersion: string): Decision {
  const { caller, tool, operation } = request;
  return {
    outcome: "deny",
    reason: `no grant lets agent ${caller.agent} of tenant ${caller.tenant} call ${tool} ${operation}`,
    rules: [],
    capabilities: [],
    missing: [...request.requiredCapabilities],
    policyVersion,
    unlock: `Add a grant whose tools include "${tool}" and whose agents include "${caller.agent}".`,
  };
}
