import {
  type Caller,
  type Failure,
  failure,
  type Permissions,
  type ResourceLimits,
} from "@sallyport/protocol";
import { matchesAny } from "../match/patterns.ts";
import type { AuthorityRequest } from "../ports/authority.ts";
import type { AgentBounds } from "../ports/sandbox.ts";
import type { TokenClaims } from "../ports/tokens.ts";
import { beyondLimits } from "./agent-limits.ts";
import { beyondAgent } from "./token/permission-subset.ts";

/** What is known of an agent beforehand: how far it is trusted, and what it may touch at most (BC-1). */
export interface AgentProfile {
  /** Names or patterns with `*`; the first profile that fits an agent holds. */
  agents: string[];
  tenants: string[];
  /** 0 to 10; a tool of a higher security level is out of its reach. */
  clearance: number;
  roles: string[];
  /** Left out: not limited here. */
  permissions?: Permissions;
  /** What any one of its tools may use at most; left out: not limited here. */
  limits?: Partial<ResourceLimits>;
}

/** For an agent without a profile: everything but tools that ask for additional verification (levels 8 to 10). */
const UNKNOWN_CLEARANCE = 7;

export function profileOf(
  profiles: readonly AgentProfile[],
  { agent, tenant }: Caller,
): AgentProfile | undefined {
  return profiles.find((profile) => matchesAny(profile.agents, agent) && matchesAny(profile.tenants, tenant));
}

/** Why the call is beyond its agent: its clearance, its own limits, or what its token gives. */
export function beyondTheAgent(
  request: AuthorityRequest,
  { profile, claims }: { profile: AgentProfile | undefined; claims: TokenClaims | undefined },
): Failure | undefined {
  const clearance = profile?.clearance ?? UNKNOWN_CLEARANCE;
  if (request.securityLevel > clearance) {
    return failure("E3218", {
      message: `${request.tool} is of security level ${request.securityLevel}; this agent is cleared up to ${clearance}.`,
      details: { securityLevel: request.securityLevel, clearance },
    });
  }
  const own = profile?.permissions;
  return (
    (own && claims && beyondAgent(claims.permissions, own)) ??
    (claims && beyondAgent(request.permissions, claims.permissions)) ??
    (own && beyondAgent(request.permissions, own)) ??
    (profile?.limits && request.limits && beyondLimits(request.limits, profile.limits))
  );
}

/** The outer sandbox of an agent's tools; undefined for an agent that nothing limits. */
export function boundsOf(agent: string, profile: AgentProfile | undefined): AgentBounds | undefined {
  if (!profile?.permissions && !profile?.limits) return undefined;
  const { permissions, limits = {} } = profile;
  const entries = {
    wallMs: limits.timeoutMs,
    memoryBytes: limits.memoryBytes,
    cpuMs: limits.cpuTimeMs,
    cpuMillicores: limits.cpuMillicores,
    processes: limits.maxProcesses,
    openFiles: limits.maxOpenFiles,
    fileBytes: limits.maxFileBytes,
    diskBytes: limits.maxDiskBytes,
    outputBytes: limits.maxOutputBytes,
    connections: limits.maxConnections,
  };
  const stated = Object.entries(entries).filter(([, value]) => value !== undefined);
  return {
    agent,
    limits: Object.fromEntries(stated),
    ...(permissions && { filesystem: permissions.filesystem, network: permissions.network }),
  };
}
