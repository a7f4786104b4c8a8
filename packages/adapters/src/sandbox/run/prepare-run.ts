import { constants } from "node:fs";
import { chmod, lstat, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { SandboxOrder, WorkspaceView } from "@sallyport/engine/ports";
import { type Enforcement, failure, SallyportError } from "@sallyport/protocol";
import type { RunGroup } from "../cgroup/index.ts";
import { baseEnvironment, PROXY_PORT, proxyEnvironment } from "../environment/index.ts";
import type { SandboxHost } from "../host/sandbox-host.ts";
import { INSIDE_USER } from "../host/settings-folder.ts";
import { initArgv, type SuperviseOptions, type Watch } from "../launcher/index.ts";
import {
  agentGroupLimits,
  type LimitHost,
  type LimitPlan,
  limitPlan,
  runGroupLimits,
} from "../limits/limit-plan.ts";
import type { OpenEgress, OpenedEgress, SandboxOptions } from "../options.ts";
import { GUEST } from "../plan/guest-paths.ts";
import { planMounts } from "../plan/plan-mounts.ts";
import type { ResolvedOrder } from "../plan/resolve-order.ts";
import { plainLayout } from "../process/plain-layout.ts";
import type { PlainBackend } from "../process/process-backend.ts";
import { fatalSyscalls, isFilterArch, syscallNumber } from "../seccomp/index.ts";
import type { Backend } from "./backend.ts";
import { layOut } from "./lay-out.ts";

const BLOCK_BYTES = 512;

/** What the launcher has to measure so that a workspace's changes stay within a limit. */
async function workspaceDisk(
  view: WorkspaceView,
  bytes: number,
): Promise<{ bytes: number; paths: string[] }> {
  if (view.kind === "overlay") return { bytes, paths: [view.upper] };
  // A copy is full from the start: what it holds already is not the process's doing.
  return { bytes: bytes + (await allocated(view.copy)), paths: [view.copy] };
}

async function allocated(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true });
  const sizes = entries.map(async (entry): Promise<number> => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return allocated(path);
    return (await lstat(path)).blocks * BLOCK_BYTES;
  });
  return (await Promise.all(sizes)).reduce((sum, one) => sum + one, 0);
}

/** A run's way to the network, and the folder its socket is in. */
interface RunNetwork {
  guest: string;
  egress: OpenedEgress;
  close(): Promise<void>;
}

/** Where systems keep the certificates of authorities in one file. */
const BUNDLES = [
  ...["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"],
];

/** Opens the proxy for one run. Rejects when it cannot be opened; nothing is left behind then. */
async function openNetwork(
  order: SandboxOrder,
  host: SandboxHost,
  options: SandboxOptions & { openEgress: OpenEgress },
): Promise<RunNetwork> {
  const guest = await host.folders.makeGuest();
  // By its descriptor: a socket's path has at most 107 letters, and a folder's may have more.
  const folder = await open(guest, constants.O_DIRECTORY);
  const removeGuest = () => folder.close().finally(() => rm(guest, { recursive: true, force: true }));
  try {
    const egress = await options.openEgress({
      socketPath: `/proc/self/fd/${folder.fd}/${basename(GUEST.socket)}`,
      rules: order.egress,
      connections: order.limits.connections,
      ...(options.secrets && { secrets: options.secrets }),
    });
    if (egress.caCertificate !== undefined) await writeCertificates(guest, egress.caCertificate);
    return { guest, egress, close: () => egress.close().finally(removeGuest) };
  } catch (error) {
    await removeGuest();
    throw error;
  }
}

/** The proxy's authority besides the host's: connections it does not end are checked as ever. */
async function writeCertificates(guest: string, certificate: string): Promise<void> {
  const bundles = await Promise.all(BUNDLES.map((path) => readFile(path, "utf8").catch(() => "")));
  const known = bundles.find((text) => text !== "") ?? "";
  const path = join(guest, basename(GUEST.certificate));
  await writeFile(path, `${known}\n${certificate}\n`);
  await chmod(path, 0o644);
}

/** Everything a run needs, made and ready. */
export interface PreparedRun {
  supervise: SuperviseOptions;
  enforcement: Enforcement;
  group: RunGroup | undefined;
  egress: OpenedEgress | undefined;
  /** Takes away everything that was made for the run. */
  dispose(): Promise<void>;
}

/** What runs have in common. */
export interface RunContext {
  host: SandboxHost;
  options: SandboxOptions & { openEgress: OpenEgress };
}

/** Makes everything a run needs. Rejects when something cannot be had; nothing is left behind then. */
export async function prepareRun(
  resolved: ResolvedOrder,
  backend: Backend | PlainBackend,
  context: RunContext,
): Promise<PreparedRun> {
  const made = new AsyncDisposableStack();
  try {
    const group = await makeGroup(resolved.order, context.host);
    if (group) made.defer(() => group.remove());
    const run = { resolved, context, group, made };
    const prepared =
      "command" in backend ? await prepareIsolated(run, backend) : await preparePlain(run, backend);
    return { ...prepared, group, dispose: () => made.disposeAsync() };
  } catch (error) {
    await made.disposeAsync();
    throw error;
  }
}

interface RunParts {
  resolved: ResolvedOrder;
  context: RunContext;
  group: RunGroup | undefined;
  made: AsyncDisposableStack;
}

async function makeGroup({ limits, bounds }: SandboxOrder, host: SandboxHost): Promise<RunGroup | undefined> {
  return host.cgroups?.makeRun({
    limits: runGroupLimits(limits),
    ...(bounds && { agent: { name: bounds.agent, limits: agentGroupLimits(bounds) } }),
  });
}

type Prepared = Pick<PreparedRun, "supervise" | "enforcement" | "egress">;

async function prepareIsolated(run: RunParts, backend: Backend): Promise<Prepared> {
  const { resolved, context, group, made } = run;
  const { order } = resolved;
  const { host } = context;
  const network = await openedNetwork(run);
  const layout = await layOut(resolved, { host, guest: network?.guest ?? host.folders.guest, made });
  const plan = limitPlan(order.limits, limitHost(run, { isolated: true, tasksBeside: 0 }));
  const mounts = planMounts({
    system: layout.system,
    settings: host.folders.settings,
    guest: layout.guest,
    binds: layout.binds,
    hidden: resolved.hidden,
    // Memory that no limit on processes sees, so never more than they may have.
    scratchBytes: Math.min(order.limits.diskBytes, order.limits.memoryBytes),
  });
  const command = await backend.command(
    {
      plan: {
        argv: isolatedInit(order, plan, backend),
        // Both are the command's and not the backend's: init sets them last.
        env: {},
        cwd: "/",
        hostname: "sandbox",
        user: INSIDE_USER,
        mounts,
      },
      ...(order.bounds && { bounds: order.bounds }),
    },
    host,
  );
  const { dispose } = command;
  if (dispose) made.defer(dispose);
  return {
    egress: network?.egress,
    enforcement: plan.enforcement,
    supervise: {
      ...(await common(run, plan, { noSharedMemory: isFilterArch(process.arch) && !host.cgroups })),
      ...layout.launcher,
      binds: [...(layout.launcher.binds ?? []), ...(command.binds ?? [])],
      backend: command.argv,
      env: { ...baseEnvironment(order), PWD: order.cwd, ...order.env, ...proxyEnvironment(order) },
      fatalSyscalls: fatalNumbers(),
      ...(context.options.violationsMax !== undefined && { maxViolations: context.options.violationsMax }),
      ...(backend.channelFd !== undefined && { channelFd: backend.channelFd }),
      ...(host.isRoot && { user: host.user }),
      ...(group && { cgroups: group.folders }),
    },
  };
}

async function openedNetwork({ resolved, context, made }: RunParts): Promise<RunNetwork | undefined> {
  if (resolved.order.egress.length === 0) return undefined;
  const network = await openNetwork(resolved.order, context.host, context.options);
  made.defer(() => network.close());
  return network;
}

function isolatedInit(order: SandboxOrder, plan: LimitPlan, backend: Backend): string[] {
  const filter = backend.canNotify
    ? { path: GUEST.filter, notify: true }
    : { path: GUEST.quietFilter, notify: false };
  return initArgv({
    launcher: GUEST.launcher,
    command: order.argv,
    rlimits: plan.rlimits,
    filter,
    session: true,
    env: true,
    folder: order.cwd,
    ...(order.egress.length > 0 && { forwards: [{ port: PROXY_PORT, socket: GUEST.socket }] }),
    ...(backend.channelFd !== undefined && { channelFd: backend.channelFd }),
  });
}

async function preparePlain(run: RunParts, backend: PlainBackend): Promise<Prepared> {
  const { resolved, context, group } = run;
  const { order } = resolved;
  const { host } = context;
  if (order.egress.some((rule) => rule.credential !== undefined)) throw noCredentials(backend);
  const plan = limitPlan(
    order.limits,
    limitHost(run, { isolated: false, tasksBeside: await tasksOf(host.user.uid) }),
  );
  const isHeld = backend.level === "LEVEL_1";
  const init = initArgv({
    launcher: `${host.folders.guest}/launcher`,
    command: order.argv,
    session: true,
    env: true,
    folder: order.cwd,
    ...(isHeld && { rlimits: plan.rlimits }),
  });
  return {
    egress: undefined,
    enforcement: isHeld ? plan.enforcement : { ...plan.enforcement, openFiles: "none", fileSize: "none" },
    supervise: {
      ...(await common(run, plan)),
      ...plainLayout(resolved, host, backend),
      backend: init,
      env: { ...baseEnvironment({ egress: [] }), PWD: order.cwd, ...order.env },
      ...(isHeld && host.isRoot && { user: host.user }),
      ...(group && { cgroups: group.folders }),
    },
  };
}

async function common({ resolved, context, group }: RunParts, plan: LimitPlan, more: Watch = {}) {
  const { limits, workspace } = resolved.order;
  const disk = workspace && (await workspaceDisk(workspace, limits.diskBytes));
  return {
    launcher: context.host.launcher,
    wallMs: limits.wallMs,
    watch: { ...plan.watch, ...more, ...watchPace(group, disk !== undefined), ...(disk && { disk }) },
  };
}

/** Where a cgroup holds memory and processes, the watch has only slower things to see: time, and files that grow. */
function watchPace(group: RunGroup | undefined, writesDisk: boolean): { everyMs: number; idleMs?: number } {
  if (!group?.holds.has("memory") || !group.holds.has("processes")) return { everyMs: 25 };
  return writesDisk ? { everyMs: 25, idleMs: 100 } : { everyMs: 250 };
}

function limitHost(
  { resolved, group }: RunParts,
  { isolated, tasksBeside }: { isolated: boolean; tasksBeside: number },
): LimitHost {
  return {
    cgroup: group?.holds ?? new Set(),
    tasksBeside,
    scratch: isolated ? "tmpfs" : "none",
    writesDisk: resolved.order.workspace !== undefined,
    hasNetwork: isolated && resolved.order.egress.length > 0,
  };
}

function fatalNumbers(): number[] {
  const { arch } = process;
  if (!isFilterArch(arch)) return [];
  return fatalSyscalls().flatMap((name) => syscallNumber(name, arch) ?? []);
}

function noCredentials({ level }: PlainBackend): SallyportError {
  const message = `Credentials can be added to requests at LEVEL_2 only; here ${level} is in force.`;
  return new SallyportError(
    failure("E3101", { message, advice: "Ask for LEVEL_2, or take the credential off." }),
  );
}

/** Others of the same user may start more while a sandbox runs; it must not be them who stop it. */
const SPARE_TASKS = 64;

/** How many tasks a user has on this host, and some more; what ended while we looked is not counted. */
async function tasksOf(uid: number): Promise<number> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const counts = await Promise.all(
    names.map(async (name) => {
      const status = await readFile(`/proc/${name}/status`, "utf8").catch(() => "");
      const owner = /^Uid:\s+(\d+)/m.exec(status)?.[1];
      return Number(owner) === uid ? Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 1) : 0;
    }),
  );
  return counts.reduce((sum, one) => sum + one, SPARE_TASKS);
}
