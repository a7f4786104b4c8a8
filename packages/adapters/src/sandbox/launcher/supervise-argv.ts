/** A user by number. */
export interface HostUser {
  uid: number;
  gid: number;
}

/** A copy-on-write view: what is written into `target` lands in `upper`, `lower` stays as it is. */
export interface OverlayMount {
  lower: string;
  upper: string;
  /** Empty, on the file system of `upper`. */
  work: string;
  /** An existing empty folder; the view is seen there by the backend alone. */
  target: string;
}

/** What the launcher measures from time to time, and ends the run when it is passed. */
export interface Watch {
  everyMs?: number;
  /** Up to how seldom a tree is looked at that uses no processor time; as often as any other when left out. */
  idleMs?: number;
  /** Private and shared memory of the whole tree, swap included; neither program text nor page cache. */
  memoryBytes?: number;
  /** True when the filter refuses shared memory: a map of /dev/zero, which it cannot see, is then over the limit. */
  noSharedMemory?: boolean;
  /** Processor time of the whole tree, ended processes included. */
  cpuMs?: number;
  /** Tasks below init (threads count, as in the kernel's own limits). */
  processes?: number;
  /** Room taken below the paths, and by files that are open but have no name any more. */
  disk?: { bytes: number; paths: readonly string[] };
}

/** How the launcher runs one backend from outside. */
export interface SuperviseOptions {
  /** The launcher's path. */
  launcher: string;
  /** Program and arguments of the backend, which has to run the launcher's `init` inside. */
  backend: readonly string[];
  /**
   * The command's whole environment, for an `init` with `env`. It is in nobody's arguments, and the backend, which runs
   * outside, does not get it: a variable such as LD_PRELOAD must not reach it.
   */
  env?: Readonly<Record<string, string>>;
  /** For a host process that is root: who the backend runs as. */
  user?: HostUser;
  overlay?: OverlayMount;
  binds?: readonly { source: string; target: string; idmap?: boolean }[];
  /**
   * Files and folders that are only read, without the host's sockets, fifos and devices; `empty` is an empty folder. A
   * `socket` is one or a fifo, and the host's own. No link on the way to any of them is followed.
   */
  views?: readonly { empty: string; source: string; target: string; socket?: boolean }[];
  /** With `user`: files of this owner appear as the user's own in the overlay and in binds that ask for it. */
  idmap?: HostUser;
  /** Folders of cgroups that the backend joins. */
  cgroups?: readonly string[];
  wallMs?: number;
  watch?: Watch;
  /** Numbers of system calls whose first attempt ends the run. */
  fatalSyscalls?: readonly number[];
  /** How many refused system calls end the run. */
  maxViolations?: number;
  /** The descriptor on which the backend hands `init` its channel; 10 when left out. */
  channelFd?: number;
}

/** The descriptor that `supervise` gives the launcher for its reports. */
export const REPORT_FD = 3;

/** The descriptor on which the launcher reads the command's environment. */
export const ENV_FD = 4;

/** The launcher's arguments for a run, without its own path. */
export function superviseArgv(options: SuperviseOptions): string[] {
  return [
    "supervise",
    ...option("--report-fd", REPORT_FD),
    ...option("--env-fd", options.env && ENV_FD),
    ...option("--channel-fd", options.channelFd),
    ...option("--uid", options.user?.uid),
    ...option("--gid", options.user?.gid),
    ...(options.cgroups ?? []).flatMap((folder) => ["--cgroup", folder]),
    ...mountOptions(options),
    ...option("--wall-ms", options.wallMs),
    ...watchOptions(options.watch ?? {}),
    ...(options.fatalSyscalls?.length ? ["--fatal", options.fatalSyscalls.join(",")] : []),
    ...option("--max-violations", options.maxViolations),
    "--",
    ...options.backend,
  ];
}

function mountOptions({ overlay, idmap, binds = [], views = [] }: SuperviseOptions): string[] {
  return [
    ...(overlay ? ["--overlay", overlay.lower, overlay.upper, overlay.work, overlay.target] : []),
    ...(idmap ? ["--idmap", whole(idmap.uid), whole(idmap.gid)] : []),
    ...binds.flatMap((bind) => [bind.idmap ? "--bind-idmap" : "--bind", bind.source, bind.target]),
    ...views.flatMap((view) => [
      view.socket ? "--view-socket" : "--view",
      ...[view.empty, view.source, view.target],
    ]),
  ];
}

function watchOptions(watch: Watch): string[] {
  const { everyMs, idleMs, memoryBytes, noSharedMemory, cpuMs, processes, disk } = watch;
  return [
    ...option("--watch-ms", everyMs),
    ...option("--watch-idle-ms", idleMs),
    ...(noSharedMemory ? ["--no-shared-memory"] : []),
    ...option("--watch-memory", memoryBytes),
    ...option("--watch-cpu-ms", cpuMs),
    ...option("--watch-processes", processes),
    ...option("--watch-disk", disk?.bytes),
    ...(disk?.paths ?? []).flatMap((path) => ["--disk-path", path]),
  ];
}

function option(name: string, value: number | undefined): string[] {
  return value === undefined ? [] : [name, whole(value)];
}

/** The launcher takes plain decimal digits: no fractions, no exponents. */
function whole(value: number): string {
  return BigInt(Math.trunc(value)).toString();
}
