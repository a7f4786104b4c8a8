/** OCI runtimes we know how to call. */
export const OCI_RUNTIMES = ["crun", "runc", "runsc"] as const;
export type OciRuntime = (typeof OCI_RUNTIMES)[number];

export interface BundlePaths {
  /** The folder with `config.json` and `rootfs`. */
  bundle: string;
  /** Where the runtime keeps its own notes. */
  state: string;
  id: string;
}

/** The descriptor of the launcher's channel: runtimes hand on only those right after the standard streams. */
export const OCI_CHANNEL_FD = 3;

/** A runtime's arguments, without its own name. Limits are the launcher's and the cgroup's business, not its own. */
export function runtimeArgv(runtime: OciRuntime, paths: BundlePaths): string[] {
  const run = ["run", "--bundle", paths.bundle];
  switch (runtime) {
    case "crun":
      return ["--root", paths.state, "--cgroup-manager=disabled", ...run, "--preserve-fds=1", paths.id];
    case "runc":
      return ["--root", paths.state, "--rootless=true", ...run, "--preserve-fds=1", paths.id];
    case "runsc":
      return [
        ...["--root", paths.state, "--rootless", "--ignore-cgroups", "--network=none", "--platform=systrap"],
        ...["--host-uds=open", ...run, `--pass-fd=${OCI_CHANNEL_FD}:${OCI_CHANNEL_FD}`, paths.id],
      ];
  }
}

/** Tells which runtime a path or name is; undefined for one we do not know how to call. */
export function runtimeOf(program: string): OciRuntime | undefined {
  const name = program.slice(program.lastIndexOf("/") + 1);
  return OCI_RUNTIMES.find((runtime) => name === runtime || name.startsWith(`${runtime}-`));
}

/** Before this, runsc had neither systrap nor a working statx. */
const OLDEST_RUNSC = 20_240_101;

/** Why a runtime's version cannot be used, or undefined. `text` is what its `--version` prints. */
export function versionProblem(runtime: OciRuntime, text: string): string | undefined {
  if (runtime !== "runsc") return undefined;
  const date = Number(/(\d{8})/.exec(text)?.[1]);
  if (date >= OLDEST_RUNSC) return undefined;
  const version = /version\s+(\S+)/.exec(text)?.[1] ?? "an unknown version";
  return `runsc ${version} is too old: release-${OLDEST_RUNSC} or newer is needed`;
}
