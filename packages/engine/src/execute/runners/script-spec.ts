import { fileURLToPath } from "node:url";
import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import type { Confinement, Job } from "../../ports/runner.ts";
import type { SandboxLimits, SandboxMount, SandboxOrder } from "../../ports/sandbox.ts";
import type { WantedTool } from "./find-tool.ts";
import type { LinkBounds } from "./script-link.ts";
import { boundsWithRuntime, runtimeMounts } from "./script-mounts.ts";

const MIB = 1_048_576;
/**
 * The pipe carries the tool's questions too, files among them, so its bytes say nothing about output. Each message is
 * bounded, what the tool prints is counted by itself, and the result has its own limit.
 */
const PIPE_BYTES = 2 ** 40;

/** The Node that runs scripts, and what it must see: itself, its libraries, the engine and the protocol. */
export interface ScriptRuntime {
  path: string;
  mounts: readonly SandboxMount[];
  /** The program that serves a tool. */
  entryUrl: string;
}

/** Everything a script's process is made of, before it is known for which execution. */
export interface ScriptSpec {
  wanted: WantedTool;
  order: Omit<SandboxOrder, "id" | "workspace">;
  link: LinkBounds;
  principal: { tenant: string; agent: string };
}

/** The process a job needs. Throws a SallyportError when it is beyond its agent's bounds. */
export function scriptSpec(job: Job, moduleUrl: string, { runtime, confinement }: SpecParts): ScriptSpec {
  const { tool, version, maxOutputBytes, facts } = job;
  const { limits } = confinement;
  const beyond = beyondOutput(confinement);
  if (beyond) throw new SallyportError(beyond);
  return {
    wanted: { moduleUrl, tool, version },
    order: scriptOrder(moduleUrl, runtime, confinement),
    link: { maxOutputBytes, maxPrintedBytes: limits.outputBytes },
    principal: { tenant: facts.tenant, agent: facts.agent },
  };
}

interface SpecParts {
  runtime: ScriptRuntime;
  confinement: Confinement;
}

function scriptOrder(
  moduleUrl: string,
  runtime: ScriptRuntime,
  confinement: Confinement,
): ScriptSpec["order"] {
  const { level, hidden, egress, limits, bounds, cwd } = confinement;
  const needed = runtimeMounts(moduleUrl, runtime.mounts, confinement);
  return {
    level,
    argv: [runtime.path, `--max-old-space-size=${heapMib(limits)}`, fileURLToPath(runtime.entryUrl)],
    env: {},
    cwd,
    mounts: [...confinement.mounts, ...needed],
    hidden,
    egress,
    limits: { ...limits, outputBytes: PIPE_BYTES },
    ...(bounds && { bounds: withoutLimits(boundsWithRuntime(bounds, needed), ["outputBytes"]) }),
  };
}

/** Bounds that leave some limits to whoever looks at them in another way. */
export function withoutLimits<B extends { limits: Partial<SandboxLimits> }>(
  bounds: B,
  names: readonly (keyof SandboxLimits)[],
): B {
  const limits = Object.entries(bounds.limits).filter(([name]) => !names.some((left) => left === name));
  return { ...bounds, limits: Object.fromEntries(limits) };
}

/** Without it V8 goes by the machine's memory, and does not collect before the sandbox's limit is met. */
function heapMib({ memoryBytes }: SandboxLimits): number {
  return Math.max(1, Math.floor(memoryBytes / MIB));
}

/** What the pipe's limit hides from the sandbox (BC-1). */
function beyondOutput({ limits, bounds }: Confinement): Failure | undefined {
  const most = bounds?.limits.outputBytes;
  if (most === undefined || limits.outputBytes <= most) return undefined;
  return failure("E3102", {
    message: `The tool asks for ${limits.outputBytes} bytes of output; its agent ${bounds?.agent} has ${most}.`,
    details: { limit: "outputBytes", asked: limits.outputBytes, agentHas: most },
  });
}
