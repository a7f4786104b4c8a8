import {
  defined,
  type Enforcement,
  type Failure,
  failure,
  type IsolationLevel,
  isFailure,
  LIMIT_NAMES,
  type LimitName,
  type Permissions,
  type ResourceLimits,
  type ToolManifest,
} from "@sallyport/protocol";
import { hostsWithin, readHost, readHostPattern, readPath } from "../match/locations.ts";
import { matchesAny } from "../match/patterns.ts";
import { YES } from "../match/truth.ts";
import type { CallToPrepare, Implementation, PreparedCall, Runner, RunResult } from "../ports/runner.ts";
import type {
  AgentBounds,
  EgressRule,
  IsolationRules,
  SandboxLimits,
  SandboxMount,
} from "../ports/sandbox.ts";
import type { FileStaging } from "../ports/workspace.ts";
import { refused } from "./runners/outcome-latch.ts";

// What a call may see, reach, use and change outside its tool's own state: decided by its runner before it runs, from the
// manifest, the agent and the operator's rules.

/**
 * Where the code runs, and how it reaches its workspace:
 *   host    – in this process: it asks the host for files;
 *   asking  – in a sandbox: it asks the host for files, and sees the folders that it may only read;
 *   mounted – in a sandbox: it sees its workspace itself, as a copy-on-write view.
 */
type CodePlace = "host" | "asking" | "mounted";

/** Prepares a call whose code runs in a given place. Fails where that place is not available, or a permission is wrong. */
export function prepareCall(
  call: CallToPrepare,
  rules: IsolationRules | undefined,
  place: CodePlace,
): PreparedCall | Failure {
  const { id, permissions } = call.tool;
  if (!rules && call.dryRun) return notIsolated(id);
  if (!rules) return place === "host" ? {} : noSandbox(id);
  // Nothing to confine it in and nothing to stage: so it is with most tools that run in this process.
  if (place === "host" && permissions.filesystem.length === 0 && !call.dryRun) return {};
  const folders = permittedFolders(permissions, rules.root);
  if (isFailure(folders)) return folders;
  const limits = call.limits();
  const staging = stage(call, rules, { folders, place, maxBytes: limits.diskBytes });
  if (staging && isFailure(staging)) return staging;
  const level = place === "host" ? undefined : levelFor(id, rules);
  if (call.dryRun && level !== "LEVEL_2") return notIsolated(id);
  if (!level) return { staging };
  const isMounted = place === "mounted";
  return {
    staging,
    confinement: {
      level,
      mounts: [
        ...folders.readable.map((path) => ({ source: path, target: path, mode: "ro" as const })),
        ...(call.dryRun ? [] : socketsFor(id, rules)),
      ],
      hidden: rules.hidden,
      egress: call.dryRun ? [] : egressOf(call.tool, rules),
      limits,
      cwd: (isMounted ? folders.writable : undefined) ?? folders.readable[0] ?? "/tmp",
      ...(call.bounds && { bounds: call.bounds }),
      ...(staging && isMounted && { staging }),
    },
  };
}

function socketsFor(tool: string, { sockets = [] }: IsolationRules): SandboxMount[] {
  const given = sockets.filter(({ tools }) => matchesAny(tools, tool)).flatMap(({ paths }) => paths);
  return [...new Set(given)].map((path) => ({ source: path, target: path, mode: "ro", socket: true }));
}

/** As the runner does it. */
export function prepareFor(
  runner: Runner,
  call: CallToPrepare,
  rules: IsolationRules | undefined,
): PreparedCall | Failure {
  return runner.prepare ? runner.prepare(call, rules) : prepareCall(call, rules, "host");
}

/** Runners by the kind of implementation that they run. */
export type Runners = ReadonlyMap<string, Runner>;

/** The runner of an implementation, or of a tool whose code is not loaded. */
export function runnerFor(implementation: Implementation | undefined, runners: Runners): Runner {
  return runners.get(implementation?.kind ?? "thread") ?? UNAVAILABLE_RUNNER;
}

/** How a tool that was defined in this process runs: its functions here, its commands in sandboxes. */
export function implementationOf({
  operations,
  summaries,
  programs,
}: Pick<Implementation, "summaries"> & Record<"operations" | "programs", object>): Implementation {
  return Object.keys(programs).length > 0
    ? { kind: "process", programs }
    : { kind: "inline", operations, ...(summaries && { summaries }) };
}

/** The implementation that one of the runners reads out of a manifest. */
export function bindManifest(manifest: ToolManifest, runners: Runners): Implementation | Failure | undefined {
  for (const runner of runners.values()) {
    const bound = runner.bind?.(manifest);
    if (bound) return bound;
  }
  return undefined;
}

/** For a kind that this engine has no runner for: it counts as one that needs a sandbox. */
const UNAVAILABLE_RUNNER: Runner = {
  kind: "none",
  isolation: { level: "LEVEL_0", runner: "none" },
  isSandboxed: true,
  prepare: ({ tool, dryRun }) => (dryRun ? notIsolated(tool.id) : noRunner(tool.id)),
  run: () => refused({ kind: "refused", failure: failure("E3101") }),
  close: async () => undefined,
};

/** The isolation that a tool will have at least, before its sandbox is made. */
export function isolationLevel(
  tool: string,
  runner: Runner,
  rules: Pick<IsolationRules, "weaker"> | undefined,
): IsolationLevel {
  return runner.isSandboxed ? levelFor(tool, rules) : runner.isolation.level;
}

function levelFor(tool: string, rules: Pick<IsolationRules, "weaker"> | undefined): IsolationLevel {
  return rules?.weaker.find(({ tools }) => matchesAny(tools, tool))?.level ?? "LEVEL_2";
}

/** The limits that nothing holds. A sandbox holds or measures them all; of a process without one nothing is known. */
export function unheldLimits(
  tool: string,
  runner: Runner,
  rules: Pick<IsolationRules, "weaker"> | undefined,
): readonly LimitName[] {
  if (runner.isSandboxed) return levelFor(tool, rules) === "LEVEL_0" ? LIMIT_NAMES : [];
  return unheldOf(runner.enforcement ?? {});
}

const UNHELD = {
  processes: "none",
  openFiles: "none",
  fileSize: "none",
  disk: "none",
  connections: "none",
} as const;

/** What holds each limit of code that runs in this process with its rights. */
export const IN_PROCESS_ENFORCEMENT: Readonly<Record<"inline" | "thread", Enforcement>> = {
  inline: Object.freeze({ wall: "watch", cpu: "none", memory: "none", output: "watch", ...UNHELD }),
  thread: Object.freeze({ wall: "watch", cpu: "watch", memory: "watch", output: "watch", ...UNHELD }),
};

/** The limits that nothing holds for code in this process; none is known to be held of a tool without code. */
export function unheldInProcess(implementation: Implementation | undefined): LimitName[] {
  const kind = implementation?.kind;
  if (kind !== undefined && kind !== "inline" && kind !== "thread") return [];
  const held: Enforcement = kind ? IN_PROCESS_ENFORCEMENT[kind] : {};
  return unheldOf(held);
}

function unheldOf(held: Enforcement): LimitName[] {
  return LIMIT_NAMES.filter((name) => (held[name] ?? "none") === "none");
}

/**
 * The breach a sandboxed run ended by, or a critical one that it outlived: either way the call does not stand, and the tool
 * is kept apart until a person has looked at it (R2-3).
 */
export function escapeOf(tool: string, result: RunResult): Failure | undefined {
  const violations = result.sandbox?.violations ?? [];
  const critical = violations.find(({ severity }) => severity === "CRITICAL");
  const endedByIt = !result.ok && result.fault.kind === "violation";
  if (!critical && !endedByIt) return undefined;
  const worst = critical ?? violations[0];
  const what = worst?.description ?? "it broke the rules of its sandbox";
  return failure("E3109", {
    message: `${tool} tried to leave its sandbox: ${what}.`,
    details: {
      severity: critical ? "critical" : "high",
      ...(worst && { type: worst.type, subject: worst.subject, times: worst.times }),
    },
  });
}

/** Of a tool for whose kind this engine has no runner. */
export function noRunner(id: string): Failure {
  return failure("E3101", {
    message: `${id} cannot run here: this engine has no runner for tools of its kind.`,
    advice:
      "Give the engine such a runner (`runners` in its options) and what it needs, such as a sandbox; a gateway runs workers only.",
  });
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

const MIB = 1024 * 1024;

/** In force for what neither the manifest nor the call limits. */
const UNSTATED = {
  processes: 64,
  openFiles: 256,
  fileBytes: 256 * MIB,
  diskBytes: 1024 * MIB,
  connections: 16,
} as const;

/** What limits a call: what was asked with it, what its tool declares, and its agent's bounds. */
export interface LimitSources {
  asked: Partial<ResourceLimits> | undefined;
  declared: ResourceLimits;
  bounds: AgentBounds | undefined;
}

/** The processor time of a call; the agent's bound counts where neither the request nor the tool states one. */
export function cpuLimitMs({ asked, declared, bounds }: LimitSources): number | undefined {
  return tightest(asked?.cpuTimeMs, declared.cpuTimeMs) ?? bounds?.limits.cpuMs;
}

/** What a process of the call may use at most, given its time, memory and output. */
export function sandboxLimits(
  sources: LimitSources,
  { timeoutMs, memoryBytes, maxOutputBytes }: Record<"timeoutMs" | "memoryBytes" | "maxOutputBytes", number>,
): SandboxLimits {
  const { asked, declared, bounds } = sources;
  const agents: Partial<SandboxLimits> = bounds?.limits ?? {};
  const stated = (name: keyof ResourceLimits) => tightest(asked?.[name], declared[name]);
  const unstated = (name: keyof typeof UNSTATED) => Math.min(UNSTATED[name], agents[name] ?? Infinity);
  const cpuMs = cpuLimitMs(sources);
  const cpuMillicores = stated("cpuMillicores") ?? agents.cpuMillicores;
  return {
    wallMs: timeoutMs,
    memoryBytes,
    outputBytes: maxOutputBytes,
    ...defined({ cpuMs, cpuMillicores }),
    processes: stated("maxProcesses") ?? unstated("processes"),
    openFiles: stated("maxOpenFiles") ?? unstated("openFiles"),
    fileBytes: stated("maxFileBytes") ?? unstated("fileBytes"),
    diskBytes: stated("maxDiskBytes") ?? unstated("diskBytes"),
    connections: stated("maxConnections") ?? unstated("connections"),
  };
}

function tightest(...limits: (number | undefined)[]): number | undefined {
  const stated = limits.filter((limit) => limit !== undefined);
  return stated.length === 0 ? undefined : Math.min(...stated);
}

/** A manifest's paths as this host has them. */
interface PermittedFolders {
  /** The one it may change, staged. */
  writable: string | undefined;
  readable: string[];
}

/**
 * Where a tool may read and write: relative paths start at the root. A tool has at most one folder to write in, because what
 * one call changes is one transaction over one tree.
 */
export function permittedFolders(
  { filesystem }: Pick<Permissions, "filesystem">,
  root: string,
): PermittedFolders | Failure {
  const found: PermittedFolders = { writable: undefined, readable: [] };
  if (filesystem.length === 0) return found;
  const base = readPath(root);
  for (const { path, mode } of filesystem) {
    const absolute = base && readPath(path, base);
    if (!absolute?.startsWith("/")) {
      const message = `The path ${path} in the tool's permissions leads nowhere.`;
      const advice = "Correct the path in `permissions.filesystem` of the manifest.";
      return failure("E3105", { message, advice });
    }
    if (mode === "ro") found.readable.push(absolute);
    else if (found.writable === undefined) found.writable = absolute;
    else {
      const message = `A tool can change one folder; ${found.writable} and ${absolute} are two.`;
      return failure("E3105", { message, advice: "Permit the folder that holds both." });
    }
  }
  return found;
}

/** The permissions with every path absolute, as they are compared with an agent's. */
export function absolutePermissions(permissions: Permissions, root: string | undefined): Permissions {
  if (root === undefined || permissions.filesystem.length === 0) return permissions;
  const base = readPath(root);
  if (base === undefined) return permissions;
  const filesystem = permissions.filesystem.map((entry) => ({
    ...entry,
    path: readPath(entry.path, base) ?? entry.path,
  }));
  return { ...permissions, filesystem };
}

/** A folder that may only be read is staged too for a function, which has no other way to read it. */
function stage(
  { callId, sideEffects }: CallToPrepare,
  rules: IsolationRules,
  { folders, place, maxBytes }: { folders: PermittedFolders; place: CodePlace; maxBytes: number },
): FileStaging | Failure | undefined {
  const root = folders.writable ?? (place === "mounted" ? undefined : outermost(folders.readable));
  if (root === undefined) return undefined;
  const inside = rules.hidden.find((path) => isWithin(root, path));
  if (inside !== undefined) {
    return failure("E3105", {
      message: `${root} is in ${inside}, which no tool may see.`,
      advice:
        "Permit another folder: the state folder, secrets, policies and what `sandbox.hidden` names stay hidden.",
    });
  }
  const second = folders.readable.find((path) => !isWithin(path, root));
  if (second !== undefined && place === "host") {
    return failure("E3105", {
      message: `A function reaches one folder; ${root} and ${second} are two.`,
      advice: "Permit the folder that holds both, or run the tool as a script or a command.",
    });
  }
  const writable = folders.writable !== undefined && sideEffects !== "none";
  const denied = [...rules.denied, ...hiddenBelow(root, rules.hidden)];
  return rules.workspaces.begin({ callId, rules: { root, writable, denied }, maxBytes });
}

/** The folder that holds all the others, where one does. */
function outermost(folders: readonly string[]): string | undefined {
  return folders.find((folder) => folders.every((path) => isWithin(path, folder))) ?? folders[0];
}

/** Whether the path is the folder or lies in it. */
export function isWithin(path: string, folder: string): boolean {
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
function egressOf(
  { permissions, egressAllowlist = [] }: CallToPrepare["tool"],
  rules: IsolationRules,
): EgressRule[] {
  const listed = egressAllowlist.flatMap((text) => {
    const host = readHostPattern(text);
    if (!host) return [];
    const name = host.kind === "below" ? `*.${host.name}` : host.kind === "any" ? "*" : host.name;
    return [{ host: name, ...(host.port !== undefined && { port: host.port }) }];
  });
  return [...permissions.network, ...listed].map(({ host, port }) => {
    const credential = credentialFor({ host, port }, permissions.credentials, rules);
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
