/** One step of making the file system inside, in the order of the plan. */
export type PlannedMount =
  | PlannedBind
  | { kind: "scratch"; target: string; bytes: number }
  | { kind: "link"; target: string; leadsTo: string }
  | { kind: "emptyFolder"; target: string }
  | { kind: "emptyFile"; target: string };

/** A part of the host's file system that is seen inside. */
export interface PlannedBind {
  kind: "bind";
  /** Where the backend finds it: the host path itself, or where the launcher put it. */
  source: string;
  /** Its canonical path on the host, which rules are about. */
  host: string;
  target: string;
  mode: "ro" | "rw";
}

/** A sandbox as every backend can make it: pure data, in the words of no backend. */
export interface SandboxPlan {
  /** What is run inside, the launcher's init included. */
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  hostname: string;
  /** The same number inside and outside; never 0. */
  user: { uid: number; gid: number };
  mounts: readonly PlannedMount[];
}
