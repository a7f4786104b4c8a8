/** The kernel's limits for one process, by the names that `init` knows. */
export const RLIMIT_NAMES = [
  "as",
  "core",
  "cpu",
  "data",
  "fsize",
  "locks",
  "memlock",
  "msgqueue",
  "nice",
  "nofile",
  "nproc",
  "rss",
  "rtprio",
  "rttime",
  "sigpending",
  "stack",
] as const;
export type RlimitName = (typeof RLIMIT_NAMES)[number];

/** How the launcher starts the command inside. Paths are those seen inside. */
export interface InitOptions {
  /** The launcher's path inside. */
  launcher: string;
  /** Program and arguments. */
  command: readonly string[];
  rlimits?: Partial<Record<RlimitName, number>>;
  /** A file of raw BPF instructions; `notify` when it hands calls over, which the supervisor then refuses. */
  filter?: { path: string; notify: boolean };
  /** Ports on 127.0.0.1 inside and the unix sockets their connections go to. */
  forwards?: readonly { port: number; socket: string }[];
  /** Takes the command's environment from SuperviseOptions.env; without it, it is what the backend gave `init`. */
  env?: boolean;
  /**
   * Lowers the command's priority, 19 at most. Whoever supervises it then keeps the upper hand over a fork bomb, also
   * where there is neither a pid namespace nor a cgroup.
   */
  nice?: number;
  /** Gives the command a session of its own, away from any terminal. */
  session?: boolean;
  folder?: string;
  /** As in SuperviseOptions. */
  channelFd?: number;
}

/** The whole command line that the backend runs inside, the launcher's path first. */
export function initArgv(options: InitOptions): string[] {
  return [
    options.launcher,
    "init",
    ...(options.channelFd === undefined ? [] : ["--channel-fd", `${options.channelFd}`]),
    ...rlimitOptions(options.rlimits ?? {}),
    ...(options.filter ? ["--filter", options.filter.path] : []),
    ...(options.filter?.notify ? ["--notify"] : []),
    ...(options.forwards ?? []).flatMap(({ port, socket }) => ["--forward", `${port}=${socket}`]),
    ...(options.env ? ["--env"] : []),
    ...(options.nice === undefined ? [] : ["--nice", `${options.nice}`]),
    ...(options.session ? ["--session"] : []),
    ...(options.folder === undefined ? [] : ["--chdir", options.folder]),
    "--",
    ...options.command,
  ];
}

function rlimitOptions(rlimits: Partial<Record<RlimitName, number>>): string[] {
  return RLIMIT_NAMES.flatMap((name) => {
    const value = rlimits[name];
    return value === undefined ? [] : ["--rlimit", `${name}=${BigInt(Math.trunc(value))}`];
  });
}
