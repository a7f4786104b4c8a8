import type { PlannedMount, SandboxPlan } from "../plan/sandbox-plan.ts";
import type { OciRuntime } from "./runtime-argv.ts";

/** The part of the OCI runtime specification that we use. */
export interface OciConfig {
  ociVersion: string;
  process: {
    terminal: boolean;
    user: { uid: number; gid: number };
    args: readonly string[];
    env: string[];
    cwd: string;
    capabilities: Record<string, string[]>;
    noNewPrivileges: boolean;
  };
  root: { path: string; readonly: boolean };
  hostname: string;
  mounts: OciMount[];
  linux: {
    namespaces: { type: string }[];
    uidMappings: OciMapping[];
    gidMappings: OciMapping[];
    maskedPaths: string[];
    readonlyPaths: string[];
  };
}

export interface OciMount {
  destination: string;
  type: string;
  source: string;
  options: string[];
}

interface OciMapping {
  containerID: number;
  hostID: number;
  size: number;
}

const NO_CAPABILITIES = { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] };
const NAMESPACES = ["user", "pid", "mount", "network", "ipc", "uts", "cgroup"];

/** What a runtime would show of the kernel's insides in /proc. */
const MASKED_PATHS = [
  ...["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug"],
  ...["/proc/scsi", "/proc/timer_list", "/proc/timer_stats"],
];
const READ_ONLY_PATHS = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

const KERNEL_MOUNTS: OciMount[] = [
  { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "noexec", "nodev"] },
  {
    destination: "/dev",
    type: "tmpfs",
    source: "tmpfs",
    options: ["nosuid", "noexec", "ro", "mode=755", "size=64k"],
  },
  {
    destination: "/dev/pts",
    type: "devpts",
    source: "devpts",
    options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"],
  },
];

/** Who makes the sandbox. */
export interface OciMaker {
  runtime: OciRuntime;
  /** The host's user that everything inside belongs to. */
  user: { uid: number; gid: number };
}

/** What an OCI runtime is told: the same sandbox as a bubblewrap one, as a `config.json`. */
export function ociConfig(plan: SandboxPlan, maker: OciMaker): OciConfig {
  const first = maker.runtime === "runc" ? asRuncsRoot(plan) : asItself(plan);
  return {
    ociVersion: "1.0.2",
    process: {
      ...first,
      terminal: false,
      env: Object.entries(plan.env).map(([name, value]) => `${name}=${value}`),
      cwd: plan.cwd,
      noNewPrivileges: true,
    },
    root: { path: "rootfs", readonly: true },
    hostname: plan.hostname,
    mounts: [...KERNEL_MOUNTS, ...plan.mounts.flatMap(ociMounts)],
    linux: {
      namespaces: NAMESPACES.map((type) => ({ type })),
      uidMappings: [{ containerID: first.user.uid, hostID: maker.user.uid, size: 1 }],
      gidMappings: [{ containerID: first.user.gid, hostID: maker.user.gid, size: 1 }],
      maskedPaths: MASKED_PATHS,
      readonlyPaths: READ_ONLY_PATHS,
    },
  };
}

type FirstProcess = Pick<OciConfig["process"], "user" | "args" | "capabilities">;

function asItself(plan: SandboxPlan): FirstProcess {
  return { user: plan.user, args: plan.argv, capabilities: NO_CAPABILITIES };
}

/**
 * runc insists on a root inside, and an unprivileged user can map one number only. So its root does one thing: it
 * enters a further user namespace as our user. Mapping root there takes CAP_SETFCAP, which does not go along.
 */
function asRuncsRoot(plan: SandboxPlan): FirstProcess {
  const { uid, gid } = plan.user;
  // Its capabilities go along so that the launcher can give up even the bounds of them.
  const enter = [
    ...["/usr/bin/unshare", "--user", `--map-user=${uid}`, `--map-group=${gid}`, "--keep-caps", "--"],
  ];
  const one = ["CAP_SETFCAP"];
  return {
    user: { uid: 0, gid: 0 },
    args: [...enter, ...plan.argv],
    capabilities: { ...NO_CAPABILITIES, bounding: one, effective: one, permitted: one },
  };
}

/** Links inside the root, which are made on disk because a runtime only mounts. */
export function rootLinks(plan: SandboxPlan): { path: string; leadsTo: string }[] {
  return plan.mounts.flatMap((mount) =>
    mount.kind === "link" ? [{ path: mount.target, leadsTo: mount.leadsTo }] : [],
  );
}

function ociMounts(mount: PlannedMount): OciMount[] {
  switch (mount.kind) {
    case "bind":
      return [bind(mount.source, mount.target, mount.mode)];
    case "scratch":
      return [
        {
          destination: mount.target,
          type: "tmpfs",
          source: "tmpfs",
          options: ["nosuid", "nodev", "mode=1777", `size=${mount.bytes}`],
        },
      ];
    case "emptyFolder":
      return [
        {
          destination: mount.target,
          type: "tmpfs",
          source: "tmpfs",
          options: ["nosuid", "nodev", "ro", "mode=755", "size=4k"],
        },
      ];
    case "emptyFile":
      return [bind("/dev/null", mount.target, "ro")];
    case "link":
      return [];
  }
}

function bind(source: string, destination: string, mode: "ro" | "rw"): OciMount {
  return { destination, type: "bind", source, options: ["rbind", "nosuid", "nodev", mode] };
}
