import { createHash } from "node:crypto";
import { findPackageJSON } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { canonicalJson, failure, type JsonValue, SallyportError } from "@sallyport/protocol";
import type { Confinement, Job } from "../../ports/runner.ts";
import type { AgentBounds, SandboxLimits, SandboxMount, SandboxOrder } from "../../ports/sandbox.ts";
import { isWithin } from "../confinement.ts";
import type { WantedTool } from "./wire.ts";

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

/** What the pipes of a process may carry. */
interface LinkBounds {
  maxOutputBytes: number;
  /** What the tool may print besides. */
  maxPrintedBytes: number;
}

/** Everything a script's process is made of, before it is known for which execution. */
export interface ScriptSpec {
  wanted: WantedTool;
  order: Omit<SandboxOrder, "id" | "workspace">;
  link: LinkBounds;
  principal: { tenant: string; agent: string };
  key: string;
}

interface SpecParts {
  moduleUrl: string;
  runtime: ScriptRuntime;
  confinement: Confinement;
}

/** The process a job needs. Throws a SallyportError when it is beyond its agent's bounds. */
export function scriptSpec(job: Job, { moduleUrl, runtime, confinement }: SpecParts): ScriptSpec {
  const { tool, version, maxOutputBytes, facts } = job;
  const { level, hidden, egress, limits, bounds, cwd } = confinement;
  checkOutput(confinement);
  const needed = runtimeMounts(moduleUrl, runtime.mounts, confinement);
  // Without a limit V8 goes by the machine's memory, and does not collect before the sandbox's limit is met.
  const heapMib = Math.max(1, Math.floor(limits.memoryBytes / MIB));
  const spec = {
    wanted: { moduleUrl, tool, version },
    order: {
      argv: [runtime.path, `--max-old-space-size=${heapMib}`, fileURLToPath(runtime.entryUrl)],
      env: {},
      mounts: [...confinement.mounts, ...needed],
      limits: { ...limits, outputBytes: PIPE_BYTES },
      ...{ level, cwd, hidden, egress },
      ...(bounds && { bounds: withoutLimits(boundsWithRuntime(bounds, needed), ["outputBytes"]) }),
    },
    link: { maxOutputBytes, maxPrintedBytes: limits.outputBytes },
    principal: { tenant: facts.tenant, agent: facts.agent },
  };
  return { ...spec, key: keyOf(spec) };
}

/**
 * A name for everything that makes a process what it is: its sandbox (level, mounts, limits, hosts, bounds …), its
 * module, tool and version, and for whom it was started. Only equal specs have equal keys, so a process that waits
 * under a key is the one that the next call with that key would have started itself.
 */
function keyOf(spec: Omit<ScriptSpec, "key">): string {
  const plain: JsonValue = JSON.parse(JSON.stringify(spec));
  return createHash("sha256").update(canonicalJson(plain)).digest("base64url");
}

/** Bounds that leave some limits to whoever looks at them in another way. */
export function withoutLimits(bounds: AgentBounds, names: readonly (keyof SandboxLimits)[]): AgentBounds {
  const limits = Object.entries(bounds.limits).filter(([name]) => !names.some((left) => left === name));
  return { ...bounds, limits: Object.fromEntries(limits) };
}

/** What the pipe's limit hides from the sandbox (BC-1). */
function checkOutput({ limits, bounds }: Confinement): void {
  const most = bounds?.limits.outputBytes;
  if (most === undefined || limits.outputBytes <= most) return;
  const message = `The tool asks for ${limits.outputBytes} bytes of output; its agent ${bounds?.agent} has ${most}.`;
  const details = { limit: "outputBytes", asked: limits.outputBytes, agentHas: most };
  throw new SallyportError(failure("E3102", { message, details }));
}

/**
 * What a script's process must see of the host to run at all, besides what the call's bounds show: Node, the runtime, and
 * the folder of the tool's package (Node reads its package.json to know what kind of module it has), or of the module alone
 * where there is no package. Read-only, and without what is seen anyway.
 */
export function runtimeMounts(
  moduleUrl: string,
  mounts: readonly SandboxMount[],
  { mounts: shown }: Pick<Confinement, "mounts">,
): SandboxMount[] {
  const folder = moduleFolder(moduleUrl);
  const own: SandboxMount = { source: folder, target: folder, mode: "ro" };
  const wanted = [...mounts.map((mount) => behindLink(mount, [...shown, own])), own];
  return wanted.filter((mount, index) => {
    const others = [...shown, ...wanted.slice(0, index)];
    return !others.some((other) => shows(other, mount));
  });
}

/** A link that another mount shows is no place to mount at: what it leads to is shown where it really is. */
function behindLink(mount: SandboxMount, shown: readonly SandboxMount[]): SandboxMount {
  const { source, target } = mount;
  const isLink = source !== target && shown.some((other) => isWithin(target, other.target));
  return isLink ? { ...mount, target: source } : mount;
}

/** Runtime files (Node, engine, tool package) are mounted even when the agent's bounds do not list them. */
function boundsWithRuntime(bounds: AgentBounds, runtime: readonly SandboxMount[]): AgentBounds {
  const { filesystem } = bounds;
  if (!filesystem) return bounds;
  const added = runtime
    .filter(({ source }) => !filesystem.some(({ path }) => isWithin(source, path)))
    .map(({ source }) => ({ path: source, mode: "ro" as const }));
  return { ...bounds, filesystem: [...filesystem, ...added] };
}

function moduleFolder(moduleUrl: string): string {
  try {
    const found = findPackageJSON(moduleUrl);
    if (found !== undefined) return dirname(found);
  } catch {
    // There is no such module; the process will say so itself.
  }
  return dirname(fileURLToPath(moduleUrl));
}

function shows(mount: SandboxMount, wanted: SandboxMount): boolean {
  if (!isWithin(wanted.target, mount.target)) return false;
  return wanted.source === `${trimmed(mount.source)}${wanted.target.slice(trimmed(mount.target).length)}`;
}

function trimmed(folder: string): string {
  return folder.endsWith("/") ? folder.slice(0, -1) : folder;
}
