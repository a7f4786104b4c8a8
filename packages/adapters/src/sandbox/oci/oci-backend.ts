import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chown, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { findProgram } from "../host/find-program.ts";
import type { SandboxHost } from "../host/sandbox-host.ts";
import type { HostUser } from "../launcher/index.ts";
import type { Backend, BackendCommand, BackendLook, BackendOrder } from "../run/backend.ts";
import { type OciConfig, ociConfig, rootLinks } from "./oci-config.ts";
import { OCI_CHANNEL_FD, type OciRuntime, runtimeArgv, runtimeOf, versionProblem } from "./runtime-argv.ts";

interface BundleOrder {
  /** An empty folder of ours. */
  folder: string;
  config: OciConfig;
  links: readonly { path: string; leadsTo: string }[];
  /** Who the runtime runs as, when that is not us. */
  owner: HostUser | undefined;
}

/** Fills a bundle: the configuration, an empty root with its links, and a place for the runtime's own notes. */
async function fillBundle({ folder, config, links, owner }: BundleOrder): Promise<void> {
  const root = join(folder, "rootfs");
  await mkdir(root);
  await mkdir(join(folder, "state"), { mode: 0o700 });
  await writeFile(join(folder, "config.json"), JSON.stringify(config), { mode: 0o600 });
  for (const { path, leadsTo } of links) await makeLink(join(root, path), leadsTo);
  if (owner === undefined) return;
  const given = [
    "",
    "rootfs",
    "state",
    "config.json",
    ...new Set(links.map(({ path }) => join("rootfs", dirname(path)))),
  ];
  for (const name of given) await chown(join(folder, name), owner.uid, owner.gid);
}

async function makeLink(path: string, leadsTo: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(leadsTo, path);
}

/** Removes a bundle with whatever the runtime has made in it. */
async function removeBundle(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

const run = promisify(execFile);

/** Both mean the same place: version 2 beside version 1, which crun refuses to look at. */
const HYBRID_CGROUP = "/sys/fs/cgroup/unified";

/** The same sandbox made by an OCI runtime; `program` is its name or path. */
export function ociBackend(program: string): Backend {
  const runtime = runtimeOf(program) ?? "crun";
  return {
    name: `oci-${runtime}`,
    level: "LEVEL_2",
    channelFd: OCI_CHANNEL_FD,
    canNotify: runtime !== "runsc",
    look: () => lookAtRuntime(program),
    command: (order, host) => ociCommand({ program, runtime }, order, host),
  };
}

/** The first runtime of the list that is there; crun when none is, so that its absence can be told. */
export function defaultRuntime(): string {
  return ["crun", "runc"].find((name) => findProgram(name) !== undefined) ?? "crun";
}

async function ociCommand(
  { program, runtime }: { program: string; runtime: OciRuntime },
  { plan }: BackendOrder,
  host: SandboxHost,
): Promise<BackendCommand> {
  const folder = await host.folders.makeFolder();
  const dispose = () => removeBundle(folder);
  try {
    const config = ociConfig(plan, { runtime, user: host.user });
    await fillBundle({ folder, config, links: rootLinks(plan), owner: host.isRoot ? host.user : undefined });
  } catch (error) {
    await dispose();
    throw error;
  }
  const paths = { bundle: folder, state: join(folder, "state"), id: basename(folder) };
  const argv = [findProgram(program) ?? program, ...runtimeArgv(runtime, paths)];
  const isHybrid = runtime === "crun" && existsSync(HYBRID_CGROUP);
  const binds = isHybrid ? [{ source: host.folders.emptyFolder, target: HYBRID_CGROUP }] : [];
  return { argv, binds, dispose };
}

async function lookAtRuntime(program: string): Promise<BackendLook> {
  const path = findProgram(program);
  const runtime = runtimeOf(program);
  if (runtime === undefined) {
    return { missing: [`${program} is no OCI runtime we know`], fix: ["use crun, runc or runsc"], facts: {} };
  }
  if (path === undefined) {
    return { missing: [`${program} is not installed`], fix: [`apt-get install ${runtime}`], facts: {} };
  }
  const { stdout } = await run(path, ["--version"], { env: {} });
  const facts = { program: path, version: stdout.split("\n")[0]?.trim() ?? "" };
  const problem = versionProblem(runtime, stdout);
  if (problem === undefined) return { missing: [], fix: [], facts };
  return {
    missing: [problem],
    fix: ["install a current runsc from gvisor.dev/docs/user_guide/install"],
    facts,
  };
}
