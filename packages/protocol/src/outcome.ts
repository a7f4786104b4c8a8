import type { Failure } from "./errors/catalogue.ts";
import type { JsonValue } from "./json.ts";
import type { CallStatus, LifecycleState } from "./lifecycle.ts";

/** What a file, folder or link is like at one moment. */
export interface FileState {
  type: "file" | "folder" | "symlink";
  /** Permission bits, such as 0o644. */
  mode: number;
  /** Of a file: its size. */
  bytes?: number;
  /** Of a file: over its content. */
  sha256?: string;
  /** Of a symlink: where it leads, as written in it. */
  target?: string;
}

export const FILE_CHANGES = ["added", "edited", "deleted", "renamed", "mode", "replaced"] as const;
/** `mode`: only the permission bits changed. `replaced`: it became something of another type. */
export type FileChange = (typeof FILE_CHANGES)[number];

/** One path that a call changed, or would change. */
export interface FileEffect {
  /** Relative to the workspace, with `/` between its parts. */
  path: string;
  change: FileChange;
  /** Of a rename: where it was before. */
  from?: string;
  before?: FileState;
  after?: FileState;
  /** Of a text: unified diff, secrets redacted; left out for binary content and where the whole became too long. */
  diff?: string;
  /** Anything a person should know about it, such as that a hard link was cut. */
  note?: string;
}

/** Everything a call changed in its workspace, as it was committed or would be. */
export interface FileEffects {
  /** The workspace. */
  root: string;
  /** Sorted by path; at most as many as the record holds. */
  files: FileEffect[];
  /** How many more there are than listed. */
  omitted: number;
  /** True when a diff was left out or cut because all together became too long. */
  diffsCut: boolean;
  /** SHA-256 over the canonical list of every path with its before and after states, the omitted ones included. */
  digest: string;
}

/** On whose behalf a call is made. Never defaulted by the engine: a door says who it serves. */
export interface Caller {
  tenant: string;
  agent: string;
  user?: string;
  session?: string;
}

export interface ResourceUsage {
  durationMs: number;
  cpuMs: number;
  memoryPeakBytes: number;
  networkBytesSent: number;
  networkBytesReceived: number;
}

export const ISOLATION_LEVELS = ["LEVEL_0", "LEVEL_1", "LEVEL_2"] as const;
export type IsolationLevel = (typeof ISOLATION_LEVELS)[number];

/** The isolation that was in force while the tool ran, not the one that was asked for. */
export interface Isolation {
  level: IsolationLevel;
  runner: string;
  /** Sockets and fifos of the host that it was given by name; absent when there were none. */
  sockets?: string[];
}

export const LIMIT_NAMES = [
  "wall",
  "cpu",
  "memory",
  "processes",
  "openFiles",
  "fileSize",
  "disk",
  "output",
  "connections",
] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** What held a limit: the kernel per group or per process, a supervisor that measures, or the egress proxy. */
export type Enforcer = "cgroup" | "rlimit" | "watch" | "tmpfs" | "proxy" | "none";

/** Which mechanism held each limit of a run. */
export type Enforcement = Partial<Record<LimitName, Enforcer>>;

/** Something a process tried that its sandbox does not allow. */
export interface Violation {
  type: "FILESYSTEM" | "PROCESS" | "NETWORK" | "SYSCALL";
  severity: "LOW" | "MEDIUM" | "HIGH" | "CRITICAL";
  /** In words, such as `mount was called by sh`. */
  description: string;
  /** What it was about: a syscall, a host, a path. */
  subject: string;
  /** How often. */
  times: number;
  at: number;
}

/** Where the unit of work that ended the call stands in its tenant's chain; enough to find and check it offline. */
export interface Receipt {
  tenant: string;
  /** The strand of the chain: 0 where one process writes. Receipts of the first store format are of strand 0. */
  strand: number;
  sequence: number;
  hash: string;
  inputHash: string;
  outputHash?: string;
  /** The digest of the file effects that were committed. */
  effectsHash?: string;
}

/** What can outlive a rollback unseen: files that were not staged, requests to others, processes. */
export const UNSEEN_EFFECTS = ["other_files", "network", "processes"] as const;
export type UnseenEffect = (typeof UNSEEN_EFFECTS)[number];

/** Proof that nothing is left of what a failed call did to its state and its staged files, and to nothing else. */
export interface RollbackProof {
  /** About what `covers` names. */
  verified: boolean;
  snapshotHash: string;
  discardedMutations: number;
  /** Of a call with a workspace: the same for its files. */
  files?: { verified: boolean; hash: string; discarded: number };
  /** On an answer: what was compared with what it had been. */
  covers?: ("state" | "files")[];
  /** On an answer: what the tool could have done that its isolation does not show; empty when there is nothing. */
  unseen?: UnseenEffect[];
}

/** The approval a call ran by, or waits for. */
export interface ApprovalNote {
  approvalId: string;
  /** The people who agreed. */
  by: string[];
  /** Present when a person changed the arguments: what really ran, secrets redacted. */
  editedInput?: JsonValue;
}

export interface Warning {
  code: string;
  message: string;
}

interface AnswerCommon {
  callId: string;
  executionId: string;
  tool: string;
  version: string;
  operation: string;
  attempts: number;
  /** Each state this execution passed through, with its time. */
  lifecycle: { state: LifecycleState; at: number }[];
  startedAt: number;
  completedAt: number;
  usage: ResourceUsage;
  isolation?: Isolation;
  /** Of a tool that ran: which mechanism held each limit; `none` where nothing did. */
  enforcement?: Enforcement;
  /** Of a sandboxed run: what it tried and was refused. */
  violations?: Violation[];
  /** What the call changed in its workspace. */
  effects?: FileEffects;
  rollback?: RollbackProof;
  approval?: ApprovalNote;
  warnings: Warning[];
  receipt?: Receipt;
  /** True when it was a dry run: `effects` is what it would have changed, and nothing of it was kept. */
  dryRun?: boolean;
  /** True when the answer comes from the record and nothing ran this time. */
  replayed: boolean;
}

export interface Succeeded extends AnswerCommon {
  status: "success";
  result: JsonValue;
}

export interface Unsuccessful extends AnswerCommon {
  status: Exclude<CallStatus, "success">;
  error: Failure;
}

/** What a caller gets back. Expected endings are values; nothing here is thrown. */
export type CallAnswer = Succeeded | Unsuccessful;

/** A call that was accepted and is on record, and whose answer comes later. */
export interface Accepted {
  status: "pending" | "running";
  callId: string;
  tool: string;
  version: string;
  operation: string;
  acceptedAt: number;
  /** The same call was accepted before: this time nothing new is on record. */
  replayed?: true;
}
