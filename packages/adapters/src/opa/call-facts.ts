import type { PolicyRequest } from "@sallyport/engine/ports";
import type { JsonObject } from "@sallyport/protocol";

/** What a call may touch, in the words of the L3 context. */
export function resourceFacts({ permissions }: PolicyRequest): JsonObject {
  const { filesystem, network, credentials } = permissions;
  return {
    filesystem_paths: filesystem.map(({ path }) => path),
    network_endpoints: network.map(({ host, port }) => (port === undefined ? host : `${host}:${port}`)),
    credentials: [...credentials],
  };
}

/** What is called, and what its manifest says of it. */
export function toolFacts(request: PolicyRequest): JsonObject {
  return {
    tool_version: request.version,
    operation: request.operation,
    category: request.category,
    tags: [...request.tags],
    source_type: request.source,
    security_level: request.securityLevel,
    risk: request.risk,
    side_effects: request.sideEffects,
    capabilities: [...request.requiredCapabilities],
    isolation_level: request.isolation,
    unheld_limits: [...(request.unheldLimits ?? [])],
    manifest_hash: request.manifestHash,
  };
}

/** On whose behalf, beside the agent. */
export function callerFacts({ caller, userVerified = false }: PolicyRequest): JsonObject {
  return {
    tenant_id: caller.tenant,
    ...(caller.user !== undefined && { user_id: caller.user, user_verified: userVerified }),
    ...(caller.session !== undefined && { session_id: caller.session }),
  };
}
