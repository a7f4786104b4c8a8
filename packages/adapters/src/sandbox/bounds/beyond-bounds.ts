import type { AgentBounds, SandboxLimits, SandboxOrder } from "@sallyport/engine/ports";
import { type Failure, failure } from "@sallyport/protocol";
import { boundMode } from "./bound-mode.ts";

/** True when every name the pattern `asked` stands for is also one of `bound`. */
export function coversHost(bound: string, asked: string): boolean {
  const [outer, inner] = [plainHost(bound), plainHost(asked)];
  if (outer === "*" || outer === inner) return true;
  if (!outer.startsWith("*.")) return false;
  const suffix = outer.slice(1);
  const name = inner.startsWith("*.") ? inner.slice(1) : inner;
  return name.endsWith(suffix) && inner !== "*";
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}

type Bounded = Pick<SandboxOrder, "limits" | "egress" | "mounts" | "workspace" | "bounds">;

/**
 * Says why an order asks for more than its agent has (BC-1): E3102 for a limit, E3104 for a host, E3105 for a path.
 * Undefined when it stays within. Paths must be canonical: it compares names and follows no link.
 */
export function beyondBounds(order: Bounded): Failure | undefined {
  const { bounds } = order;
  if (bounds === undefined) return undefined;
  return (
    beyondLimits(order.limits, bounds) ?? beyondNetwork(order, bounds) ?? beyondFilesystem(order, bounds)
  );
}

const LIMITS: Record<keyof SandboxLimits, string> = {
  wallMs: "milliseconds of time",
  memoryBytes: "bytes of memory",
  cpuMs: "milliseconds of processor time",
  cpuMillicores: "thousandths of a processor",
  processes: "processes",
  openFiles: "open files",
  fileBytes: "bytes in one file",
  diskBytes: "bytes on disk",
  outputBytes: "bytes of output",
  connections: "connections",
};

function beyondLimits(limits: SandboxLimits, bounds: AgentBounds): Failure | undefined {
  for (const [name, words] of Object.entries(LIMITS) as [keyof SandboxLimits, string][]) {
    const most = bounds.limits[name];
    const asked = limits[name] ?? Number.POSITIVE_INFINITY;
    if (most === undefined || asked <= most) continue;
    const wanted = Number.isFinite(asked) ? String(asked) : "any number of";
    return failure("E3102", {
      message: `The tool asks for ${wanted} ${words}; its agent ${bounds.agent} has ${most}.`,
      advice: `Lower the tool's ${name} to ${most} or less, or raise the agent's.`,
      details: {
        limit: name,
        asked: Number.isFinite(asked) ? asked : null,
        agentHas: most,
        agent: bounds.agent,
      },
    });
  }
  return undefined;
}

function beyondNetwork(order: Bounded, bounds: AgentBounds): Failure | undefined {
  const { network } = bounds;
  if (network === undefined) return undefined;
  const rule = order.egress.find(
    ({ host, port }) =>
      !network.some(
        (bound) => coversHost(bound.host, host) && (bound.port === undefined || bound.port === port),
      ),
  );
  if (rule === undefined) return undefined;
  const asked = address(rule);
  const has = network.map(address).join(", ") || "no network at all";
  return failure("E3104", {
    message: `The tool asks for ${asked}; its agent ${bounds.agent} has ${has}.`,
    advice: `Take ${asked} off the tool's network permissions, or add it to the agent's.`,
    details: { host: rule.host, agent: bounds.agent, ...(rule.port !== undefined && { port: rule.port }) },
  });
}

function address(rule: { host: string; port?: number }): string {
  return `${rule.host}:${rule.port ?? "any port"}`;
}

function beyondFilesystem(order: Bounded, bounds: AgentBounds): Failure | undefined {
  const { filesystem } = bounds;
  if (filesystem === undefined) return undefined;
  // A workspace is only ever seen through a view; where the agent may only read, so does the view.
  const workspace = order.workspace && { source: order.workspace.root, mode: "ro" as const };
  const asked = [...order.mounts, ...(workspace ? [workspace] : [])];
  const beyond = asked.find((one) => !staysWithin(one, filesystem));
  if (beyond === undefined) return undefined;
  const has = filesystem.map(({ path, mode }) => `${path} (${mode})`).join(", ") || "no folder at all";
  return failure("E3105", {
    message: `The tool asks for ${beyond.source} (${beyond.mode}); its agent ${bounds.agent} has ${has}.`,
    advice: `Take ${beyond.source} off the tool's filesystem permissions, or add it to the agent's.`,
    details: { path: beyond.source, mode: beyond.mode, agent: bounds.agent },
  });
}

function staysWithin(
  { source, socket }: { source: string; socket?: true },
  filesystem: NonNullable<AgentBounds["filesystem"]>,
): boolean {
  const mode = boundMode(source, filesystem);
  return socket ? mode === "rw" : mode !== undefined;
}
