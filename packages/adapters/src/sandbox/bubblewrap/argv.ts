import type { PlannedMount, SandboxPlan } from "../plan/sandbox-plan.ts";

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
