import type { PlannedMount, SandboxPlan } from "../plan/sandbox-plan.ts";

/** What a macOS sandbox may do besides reading its system. */
export interface SeatbeltOptions {
  /** The only place a process may talk to; left out: nothing. */
  proxyPort?: number;
  /** Its private folder for temporary files. */
  scratch: string;
}

/** macOS itself, without which no program starts. */
const SYSTEM_PATHS = [
  ...["/System", "/usr/lib", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/share", "/bin", "/sbin"],
  ...["/Library/Apple", "/private/etc/ssl", "/private/var/db/timezone", "/private/var/db/dyld", "/dev"],
];

/**
 * The profile for `sandbox-exec -p`: nothing but what is named. Later rules win, so that what is hidden comes last.
 * Checked on its output only; it has not run on a real kernel yet.
 */
export function seatbeltProfile(plan: Pick<SandboxPlan, "mounts">, options: SeatbeltOptions): string {
  const binds = plan.mounts.filter((mount) => mount.kind === "bind");
  const readable = [...SYSTEM_PATHS, ...binds.map((mount) => mount.source), options.scratch];
  const writable = [
    ...binds.filter((mount) => mount.mode === "rw").map((mount) => mount.source),
    options.scratch,
  ];
  return [
    "(version 1)",
    "(deny default)",
    "(allow process-fork)",
    "(allow signal (target same-sandbox))",
    "(allow sysctl-read)",
    '(allow file-read-metadata (literal "/"))',
    ...readable.map((path) => `(allow file-read* process-exec (subpath ${quoted(path)}))`),
    ...writable.map((path) => `(allow file-write* (subpath ${quoted(path)}))`),
    ...["/dev/null", "/dev/zero", "/dev/tty"].map(
      (path) => `(allow file-write-data (literal ${quoted(path)}))`,
    ),
    ...network(options.proxyPort),
    ...plan.mounts.flatMap(hidden),
    "",
  ].join("\n");
}

function network(port: number | undefined): string[] {
  return port === undefined ? [] : [`(allow network-outbound (remote ip "localhost:${port}"))`];
}

function hidden(mount: PlannedMount): string[] {
  if (mount.kind !== "emptyFolder" && mount.kind !== "emptyFile") return [];
  const filter = mount.kind === "emptyFolder" ? "subpath" : "literal";
  return [`(deny file-read* file-write* process-exec (${filter} ${quoted(mount.target)}))`];
}

/** A path as a string of the profile's language, which is a Scheme. */
function quoted(path: string): string {
  return `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
