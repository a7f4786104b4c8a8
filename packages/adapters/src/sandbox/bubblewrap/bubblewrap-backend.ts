import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { AgentBounds } from "@sallyport/engine/ports";
import { boundMode } from "../bounds/bound-mode.ts";
import { findProgram } from "../host/find-program.ts";
import { isWithin } from "../plan/paths.ts";
import type { PlannedBind, PlannedMount, SandboxPlan } from "../plan/sandbox-plan.ts";
import type { SystemLayout } from "../plan/system-layout.ts";
import type { Backend, BackendLook } from "../run/backend.ts";

/** The agent's sandbox around a tool's (BC-1). */
interface OuterSandbox {
  /** The absolute path of bwrap, which runs once more inside. */
  bubblewrap: string;
  system: SystemLayout;
  bounds: AgentBounds;
  /** Folders of the sandbox itself, which no agent's rule is about. */
  own: readonly string[];
}

/**
 * bwrap's arguments for a tool's sandbox inside its agent's. The outer one has no filter and may make namespaces, or
 * the inner one could not; it shows what the agent may see and nothing else, so that the inner one cannot mount more.
 */
export function nestedArgv(outer: OuterSandbox, inner: SandboxPlan): string[] {
  const { uid, gid } = inner.user;
  const binds = inner.mounts.filter((mount) => mount.kind === "bind");
  const system = binds.filter((bind) => isOfSystem(bind, outer));
  return [
    ...["--unshare-user", "--unshare-all", "--die-with-parent", "--as-pid-1"],
    ...["--uid", String(uid), "--gid", String(gid), "--cap-drop", "ALL", "--clearenv"],
    ...["--proc", "/proc", "--dev", "/dev"],
    ...system.flatMap(({ source, target }) => ["--ro-bind", source, target, "--ro-bind", source, source]),
    ...programFolder(outer).flatMap((path) => ["--ro-bind", path, path]),
    ...outer.system.links.flatMap(({ path, leadsTo }) => ["--symlink", leadsTo, path]),
    ...outerBinds(outer, binds).flatMap(({ source, mode }) => [
      mode === "ro" ? "--ro-bind" : "--bind",
      source,
      source,
    ]),
    ...["--remount-ro", "/", "--", outer.bubblewrap],
    ...bubblewrapArgv(inner),
  ];
}

function isOfSystem({ host, target }: PlannedBind, { system }: OuterSandbox): boolean {
  return host === target && [...system.folders, ...system.settings].includes(host);
}

function programFolder(outer: OuterSandbox): string[] {
  const isSeen = outer.system.folders.some((folder) => isWithin(outer.bubblewrap, folder));
  return isSeen ? [] : [outer.bubblewrap];
}

/** What the inner sandbox wants to mount, as far as the agent has it, and as weakly as either says. */
function outerBinds(outer: OuterSandbox, wanted: readonly PlannedBind[]): PlannedBind[] {
  return wanted
    .filter((bind) => !isOfSystem(bind, outer))
    .flatMap((bind) => {
      const mode = allowedMode(bind, outer);
      return mode === undefined ? [] : [{ ...bind, mode }];
    })
    .toSorted((a, b) => a.source.length - b.source.length);
}

function allowedMode(bind: PlannedBind, outer: OuterSandbox): "ro" | "rw" | undefined {
  if (outer.own.some((folder) => isWithin(bind.host, folder))) return "ro";
  if (outer.bounds.filesystem === undefined) return bind.mode;
  const mode = boundMode(bind.host, outer.bounds.filesystem);
  return mode === "rw" ? bind.mode : mode;
}

/** Every namespace there is; a user namespace always, a cgroup namespace where the kernel has one. */
const NAMESPACES = ["--unshare-user", "--unshare-all", "--die-with-parent", "--new-session"];

/** bwrap's arguments for a sandbox of its own, without the program's own name. */
export function bubblewrapArgv(plan: SandboxPlan): string[] {
  return [
    ...NAMESPACES,
    // Our init is the namespace's first process: it reaps, and the kernel's accounting stays complete.
    "--as-pid-1",
    ...["--cap-drop", "ALL", "--hostname", plan.hostname],
    ...["--uid", String(plan.user.uid), "--gid", String(plan.user.gid)],
    "--clearenv",
    ...Object.entries(plan.env).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...plan.mounts.flatMap(mountArguments),
    // bwrap's root and /dev are memory that anybody inside could fill.
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", plan.cwd, "--"],
    ...plan.argv,
  ];
}

function mountArguments(mount: PlannedMount): string[] {
  switch (mount.kind) {
    case "bind":
      return [mount.mode === "ro" ? "--ro-bind" : "--bind", mount.source, mount.target];
    case "scratch":
      return ["--perms", "1777", "--size", String(mount.bytes), "--tmpfs", mount.target];
    case "link":
      return ["--symlink", mount.leadsTo, mount.target];
    case "emptyFolder":
      return ["--tmpfs", mount.target, "--remount-ro", mount.target];
    case "emptyFile":
      return ["--ro-bind", "/dev/null", mount.target];
  }
}

const run = promisify(execFile);

/** Namespaces by bubblewrap: needs no privilege, no daemon and no files of its own. */
export function bubblewrapBackend(): Backend {
  const program = findProgram("bwrap") ?? "bwrap";
  return {
    name: "bubblewrap",
    level: "LEVEL_2",
    canNotify: true,
    look: () => lookAtBubblewrap(),
    command: async ({ plan, bounds }, { system, folders }) => {
      if (bounds === undefined) return { argv: [program, ...bubblewrapArgv(plan)] };
      return {
        argv: [program, ...nestedArgv({ bubblewrap: program, system, bounds, own: folders.all }, plan)],
      };
    },
  };
}

async function lookAtBubblewrap(): Promise<BackendLook> {
  const program = findProgram("bwrap");
  if (program === undefined) {
    const fix = ["apt-get install bubblewrap", "dnf install bubblewrap", "apk add bubblewrap"];
    return { missing: ["bubblewrap (bwrap) is not installed"], fix, facts: {} };
  }
  const { stdout } = await run(program, ["--version"], { env: {} });
  return { missing: [], fix: [], facts: { program, version: stdout.trim() } };
}
