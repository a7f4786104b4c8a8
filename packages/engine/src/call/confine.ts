import { type Failure, failure, isFailure, type ResourceLimits } from "@sallyport/protocol";
import { hostsWithin, readHost, readHostPattern } from "../match/hosts.ts";
import { YES } from "../match/truth.ts";
import type { Confinement } from "../ports/runner.ts";
import type { EgressRule, SandboxLimits } from "../ports/sandbox.ts";
import type { FileStaging } from "../ports/workspace.ts";
import type { ResolvedTool } from "../registry/index.ts";
import type { Attempt } from "./attempt.ts";
import type { House } from "./house.ts";
import { demandedLevel, type IsolationRules } from "./isolation-rules.ts";
import { effectiveLimits } from "./job.ts";
import { type PermittedFolders, permittedFolders } from "./permitted-folders.ts";

const MIB = 1024 * 1024;

/** In force for what neither the manifest nor the call limits. */
const UNSTATED = {
  processes: 64,
  openFiles: 256,
  fileBytes: 256 * MIB,
  diskBytes: 1024 * MIB,
  connections: 16,
} as const;

/** A call's bounds, and the staging of its files. */
export interface Confined {
  confinement: Confinement | undefined;
  staging: FileStaging | undefined;
}

/** What a call may see, reach and change outside its tool's own state. Nothing is made yet. */
export function confine(attempt: Attempt, tool: ResolvedTool, house: House): Confined | Failure {
  const { isolation: rules } = house;
  const { id, permissions } = tool.manifest;
  const level = demandedLevel(id, tool.implementation, rules);
  if (!rules && attempt.request.dryRun) return notIsolated(id);
  if (!rules) return level ? noSandbox(id) : { confinement: undefined, staging: undefined };
  // Nothing to confine it in and nothing to stage: so it is with most tools that run in this process.
  if (!level && permissions.filesystem.length === 0 && !attempt.request.dryRun)
    return { confinement: undefined, staging: undefined };
  const folders = permittedFolders(permissions, rules.root);
  if (isFailure(folders)) return folders;
  const limits = sandboxLimits(attempt, tool, house);
  const staging = stage({ attempt, tool, folders, maxBytes: limits.diskBytes }, rules);
  if (staging && isFailure(staging)) return staging;
  if (attempt.request.dryRun && level !== "LEVEL_2") return notIsolated(id);
  if (!level) return { confinement: undefined, staging };
  const bounds = attempt.facts.decision?.bounds;
  const confinement: Confinement = {
    level,
    mounts: folders.readable.map((path) => ({ source: path, target: path, mode: "ro" as const })),
    hidden: rules.hidden,
    egress: attempt.request.dryRun ? [] : egressOf(tool, rules),
    limits,
    cwd: (isCommand(tool) ? folders.writable : undefined) ?? folders.readable[0] ?? "/tmp",
    ...(bounds && { bounds }),
    // A command sees the folder itself; a function asks the host for files, the same in every runner.
    ...(staging && isCommand(tool) && { staging }),
    onOutput: (stream, chunk) => {
      house.feeds.tell(attempt.callId, { kind: "output", stream, chunk, at: house.clock.now() });
      attempt.request.onOutput?.(stream, chunk);
    },
    onEvent: (event) => attempt.record(event, house.clock.now()),
  };
  return { confinement, staging };
}

function noSandbox(id: string): Failure {
  return failure("E3101", {
    message: `${id} runs in a process of its own, and this engine was given no sandbox.`,
    advice: "Give the engine a sandbox (`isolation` in its options), or run the tool in a thread.",
  });
}

/** Only full isolation keeps a run from having effects. */
function notIsolated(id: string): Failure {
  return failure("E3101", {
    message: `${id} cannot be tried out: it does not run fully isolated, so what it does cannot be dropped.`,
    advice: "Make it a command or a script tool (runner: script), or call it for real.",
  });
}

function isCommand({ implementation }: ResolvedTool): boolean {
  return implementation?.kind === "process";
}

interface Staged {
  attempt: Attempt;
  tool: ResolvedTool;
  folders: PermittedFolders;
  maxBytes: number;
}

/** A folder that may only be read is staged too for a function, which has no other way to read it. */
function stage(
  { attempt, tool, folders, maxBytes }: Staged,
  rules: IsolationRules,
): FileStaging | Failure | undefined {
  const root = folders.writable ?? (isCommand(tool) ? undefined : folders.readable[0]);
  if (root === undefined) return undefined;
  const inside = rules.hidden.find((path) => isWithin(root, path));
  if (inside !== undefined) {
    return failure("E3105", { message: `${root} is in ${inside}, which no tool may see.` });
  }
  const writable = folders.writable !== undefined && tool.conduct.sideEffects !== "none";
  return rules.workspaces.begin({
    callId: attempt.callId,
    rules: { root, writable, denied: [...rules.denied, ...hiddenBelow(root, rules.hidden)] },
    maxBytes,
  });
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** What no process sees is not read or changed through a staging either, which works outside every sandbox. */
function hiddenBelow(root: string, hidden: readonly string[]): string[] {
  const below = hidden.filter((path) => isWithin(path, root)).map((path) => path.slice(root.length + 1));
  return below.flatMap((path) => [literally(path), `${literally(path)}/**`]);
}

/** A path as a pattern that means only itself. */
function literally(path: string): string {
  return path.replaceAll(/[*?]/g, "?");
}

/** The hosts of the manifest, each with the credential the tool declares for it. */
function egressOf({ manifest }: ResolvedTool, rules: IsolationRules): EgressRule[] {
  const listed = (manifest.egressAllowlist ?? []).flatMap((text) => {
    const host = readHostPattern(text);
    if (!host) return [];
    const name = host.kind === "below" ? `*.${host.name}` : host.kind === "any" ? "*" : host.name;
    return [{ host: name, ...(host.port !== undefined && { port: host.port }) }];
  });
  return [...manifest.permissions.network, ...listed].map(({ host, port }) => {
    const credential = credentialFor({ host, port }, manifest.permissions.credentials, rules);
    return {
      host,
      ...(port !== undefined && { port }),
      ...(rules.privateHosts.includes(host) && { allowPrivate: true }),
      ...(credential && { credential }),
    };
  });
}

/** Only for a rule that leads nowhere else than where the credential is good. */
function credentialFor(
  { host, port }: { host: string; port: number | undefined },
  names: readonly string[],
  { credentials }: IsolationRules,
) {
  const wanted = readHostPattern(host);
  for (const name of names) {
    const known = Object.hasOwn(credentials, name) ? credentials[name] : undefined;
    const good = known && readHost(known.host);
    if (!known || !good || !wanted) continue;
    const within = hostsWithin(
      { ...wanted, port: port ?? wanted.port },
      { ...good, port: known.port ?? good.port },
    );
    if (within !== YES) continue;
    const { host: _host, port: _port, ...credential } = known;
    return credential;
  }
  return undefined;
}

function sandboxLimits(attempt: Attempt, tool: ResolvedTool, house: House): SandboxLimits {
  const { timeoutMs, memoryBytes, maxOutputBytes } = effectiveLimits(attempt, tool, house);
  const tightest = (name: keyof ResourceLimits) => {
    const given = [attempt.request.limits?.[name], tool.limits[name]].filter((one) => one !== undefined);
    return given.length === 0 ? undefined : Math.min(...given);
  };
  const agents: Partial<SandboxLimits> = attempt.facts.decision?.bounds?.limits ?? {};
  const unstated = (name: keyof typeof UNSTATED) => Math.min(UNSTATED[name], agents[name] ?? Infinity);
  const cpuMs = tightest("cpuTimeMs") ?? agents.cpuMs;
  const cpuMillicores = tightest("cpuMillicores") ?? agents.cpuMillicores;
  return {
    wallMs: timeoutMs,
    memoryBytes,
    outputBytes: maxOutputBytes,
    ...(cpuMs !== undefined && { cpuMs }),
    ...(cpuMillicores !== undefined && { cpuMillicores }),
    processes: tightest("maxProcesses") ?? unstated("processes"),
    openFiles: tightest("maxOpenFiles") ?? unstated("openFiles"),
    fileBytes: tightest("maxFileBytes") ?? unstated("fileBytes"),
    diskBytes: tightest("maxDiskBytes") ?? unstated("diskBytes"),
    connections: tightest("maxConnections") ?? unstated("connections"),
  };
}
