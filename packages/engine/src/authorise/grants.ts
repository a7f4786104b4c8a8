import { matchesAny } from "../match/patterns.ts";
import type { AuthorityRequest } from "../ports/authority.ts";

/** A permission from the configuration: who may call what, and with which capabilities. */
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

/** Whether a grant is for this caller and this tool, whatever is done with it. */
export function reaches(
  grant: ConfiguredGrant,
  { caller, tool }: Pick<AuthorityRequest, "caller" | "tool">,
): boolean {
  return (
    matchesAny(grant.tools, tool) &&
    matchesAny(grant.agents, caller.agent) &&
    matchesAny(grant.tenants, caller.tenant)
  );
}

export function covers(grant: ConfiguredGrant, request: AuthorityRequest): boolean {
  return reaches(grant, request) && matchesAny(grant.operations, request.operation);
}
