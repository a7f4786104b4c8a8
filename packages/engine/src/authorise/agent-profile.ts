import {
  type ErrorCode,
  type Failure,
  failure,
  type Permissions,
  type ResourceLimits,
} from "@sallyport/protocol";
import { pathInside, readPath } from "../match/locations.ts";
import { YES } from "../match/truth.ts";
import type { AuthorityRequest, TokenClaims } from "../ports/authority.ts";
import type { AgentBounds } from "../ports/sandbox.ts";

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

/** How each limit is told, and what the sandbox calls it. */
const LIMITS: Record<keyof ResourceLimits, { unit: string; bound?: keyof AgentBounds["limits"] }> = {
  timeoutMs: { unit: "ms of time", bound: "wallMs" },
  memoryBytes: { unit: "bytes of memory", bound: "memoryBytes" },
  cpuMillicores: { unit: "millicores", bound: "cpuMillicores" },
  cpuTimeMs: { unit: "ms of processor time", bound: "cpuMs" },
  maxOutputBytes: { unit: "bytes of output", bound: "outputBytes" },
  maxFileBytes: { unit: "bytes in a file", bound: "fileBytes" },
  maxDiskBytes: { unit: "bytes on disk", bound: "diskBytes" },
  maxOpenFiles: { unit: "open files", bound: "openFiles" },
  maxProcesses: { unit: "processes", bound: "processes" },
  maxConnections: { unit: "connections", bound: "connections" },
  networkMbps: { unit: "megabits a second" },
};
const LIMIT_NAMES = Object.keys(LIMITS) as (keyof ResourceLimits)[];

/** Why the call exceeds its agent: the agent's clearance, permissions or limits, or what its token gives. */
export function exceedsAgent(
  request: AuthorityRequest,
  { profile, claims }: { profile: AgentProfile | undefined; claims: TokenClaims | undefined },
): Failure | undefined {
  const { tool, securityLevel, permissions, limits } = request;
  const clearance = profile?.clearance ?? UNKNOWN_CLEARANCE;
  if (securityLevel > clearance) {
    return failure("E3218", {
      message: `${tool} is of security level ${securityLevel}; this agent is cleared up to ${clearance}.`,
      details: { securityLevel, clearance },
    });
  }
  const own = profile?.permissions;
  return (
    (own && claims && exceedsPermissions(claims.permissions, own)) ??
    (claims && exceedsPermissions(permissions, claims.permissions)) ??
    (own && exceedsPermissions(permissions, own)) ??
    (profile?.limits && limits && exceedsLimits(limits, profile.limits))
  );
}

/** The first limit of the tool that is wider than its agent's (BC-1); for one the tool does not state the agent's holds. */
export function exceedsLimits(
  tool: Readonly<Partial<ResourceLimits>>,
  agent: Readonly<Partial<ResourceLimits>>,
): Failure | undefined {
  for (const name of LIMIT_NAMES) {
    const wanted = tool[name];
    const allowed = agent[name];
    if (wanted === undefined || allowed === undefined || wanted <= allowed) continue;
    return failure("E3102", {
      message: `The tool may use ${wanted} ${LIMITS[name].unit}; its agent may use ${allowed}.`,
      advice: `Call with a limit of at most ${allowed} (limits.${name}), or raise the agent's.`,
      details: { limit: name, wanted, allowed },
      retryable: false,
    });
  }
  return undefined;
}

/** The outer sandbox of an agent's tools; undefined for an agent that nothing limits. */
export function boundsOf(agent: string, profile: AgentProfile | undefined): AgentBounds | undefined {
  if (!profile?.permissions && !profile?.limits) return undefined;
  const { permissions, limits = {} } = profile;
  const stated = LIMIT_NAMES.flatMap((name) => {
    const { bound } = LIMITS[name];
    return bound && limits[name] !== undefined ? [[bound, limits[name]]] : [];
  });
  return {
    agent,
    limits: Object.fromEntries(stated),
    ...(permissions && { filesystem: permissions.filesystem, network: permissions.network }),
  };
}

type PathPermission = Permissions["filesystem"][number];
type HostPermission = Permissions["network"][number];

/** Names, wildcards and addresses; anything else could be read as more than a host. */
const HOST = /^[\w.*:[\]-]+$/;
const ADDRESS = /^[\d.]+$|:|^\[/;

/**
 * The first wanted permission that is not allowed: E3105 for a path, E3104 for a host, E3205 for a credential; undefined
 * when all are (BC-1). For a token's permissions in its agent's, and for a tool's in the token's.
 */
export function exceedsPermissions(wanted: Permissions, allowed: Permissions): Failure | undefined {
  const { filesystem, network, credentials } = allowed;
  const path = wanted.filesystem.find((entry) => !coversPath(filesystem, entry));
  if (path) {
    const list = filesystem.map(pathText);
    return exceeds("E3105", {
      what: `Access to ${pathText(path)}`,
      kind: "paths",
      list,
      details: { ...path },
    });
  }
  const host = wanted.network.find((entry) => !coversHost(network, entry));
  if (host) {
    const list = network.map(hostText);
    const details = { host: hostText(host) };
    return exceeds("E3104", { what: `A connection to ${hostText(host)}`, kind: "hosts", list, details });
  }
  const credential = wanted.credentials.find((name) => !credentials.includes(name));
  if (credential === undefined) return undefined;
  const details = { credential };
  return exceeds("E3205", {
    what: `The credential ${credential}`,
    kind: "credentials",
    list: credentials,
    details,
  });
}

function exceeds(
  code: ErrorCode,
  refused: { what: string; kind: string; list: readonly string[]; details: Record<string, string> },
): Failure {
  const { what, kind, list, details } = refused;
  const present = list.length === 0 ? "none are allowed" : `allowed are ${list.join(", ")}`;
  return failure(code, {
    message: `${what} goes beyond what is allowed.`,
    advice: `Keep to the ${kind} that are allowed, or have more allowed (${present}).`,
    details: { ...details, allowed: [...list] },
  });
}

function pathText({ path, mode }: PathPermission): string {
  return `${path} (${mode})`;
}

function hostText({ host, port }: HostPermission): string {
  return port === undefined ? `${host} (any port)` : `${host}:${port}`;
}

/**
 * Whether one of the allowed paths holds the wanted one, compared by segments: `/data` holds `/data/a` and not
 * `/database`. What cannot be judged is not covered. Links are for whoever opens the file to follow.
 */
function coversPath(allowed: readonly PathPermission[], wanted: PathPermission): boolean {
  const inner = readPath(wanted.path);
  return allowed.some(({ path, mode }) => {
    const outer = readPath(path);
    if (inner === undefined || outer === undefined) return false;
    return (mode === "rw" || wanted.mode === "ro") && pathInside(inner, outer) === YES;
  });
}

/**
 * Whether one of the allowed entries covers the wanted host and port: the same host, or one below `*.domain`. An
 * allowed entry without a port means any port; a wanted one without a port needs all of them.
 */
function coversHost(allowed: readonly HostPermission[], wanted: HostPermission): boolean {
  const host = plainHost(wanted.host);
  if (host === undefined) return false;
  return allowed.some(
    (entry) =>
      (entry.port === undefined || entry.port === wanted.port) && hostFits(plainHost(entry.host), host),
  );
}

function hostFits(pattern: string | undefined, host: string): boolean {
  if (pattern === undefined) return false;
  if (pattern === host) return true;
  // An address has no domain above it: `*.0.0.1` would be a hole, not a name.
  if (!pattern.startsWith("*.") || ADDRESS.test(host)) return false;
  const domain = pattern.slice(1);
  return domain.length > 1 && host.length > domain.length && host.endsWith(domain);
}

/** Lower case, without the root's dot. Undefined for other characters: look-alikes are other names. */
function plainHost(host: string): string | undefined {
  return HOST.test(host) ? host.toLowerCase().replace(/\.$/, "") : undefined;
}
