import type { CallStatus } from "./call-status.ts";
import type { FileEffects } from "./effects.ts";
import type { Failure } from "./errors/failure.ts";
import type { JsonValue } from "./json.ts";
import type { LifecycleState } from "./lifecycle.ts";

export { CALL_STATUSES, type CallStatus } from "./call-status.ts";

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

/** The isolation really in force while the tool ran, never the one that was wished for. */
export interface Isolation {
  level: IsolationLevel;
  runner: string;
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

/** Which mechanism held each limit of a run, so that nobody has to believe more than was done. */
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

/** Where the call's last event stands in its tenant's chain; enough to find and check it offline. */
export interface Receipt {
  tenant: string;
  sequence: number;
  hash: string;
  inputHash: string;
  outputHash?: string;
  /** The digest of the file effects that were committed. */
  effectsHash?: string;
}

/** Proof that nothing a failed call did to the transactional state is left. */
export interface RollbackProof {
  verified: boolean;
  snapshotHash: string;
  discardedMutations: number;
  /** Of a call with a workspace: the same for its files. */
  files?: { verified: boolean; hash: string; discarded: number };
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
  /** Of a sandboxed run: which mechanism held each limit. */
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
}
