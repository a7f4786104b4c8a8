import type {
  Enforcement,
  ErrorCode,
  Failure,
  Isolation,
  IsolationLevel,
  JsonValue,
  LimitName,
  Violation,
} from "@sallyport/protocol";
import type { AgentBounds, EgressRule, SandboxLimits, SandboxMount } from "./sandbox.ts";
import type { TraceContext } from "./trace.ts";
import type { StateAccess } from "./transaction.ts";
import type { FileAccess, FileStaging } from "./workspace.ts";

/** What a capability is used for. */
export interface UseOf {
  /** Such as `read`. */
  action?: string;
  /** Such as a path or a host. */
  resource?: string;
  /** How large the file is. */
  bytes?: number;
}

/** What the host does for a tool while it runs. Each method may reject; the tool gets that as an exception. */
export interface ToolHost extends StateAccess {
  /** Reports progress, 0 to 100; never fails. */
  progress(percent: number, phase?: string): void;
  /** Asserts that the tool may use a capability this way; rejects, and ends the call, when it may not. */
  use(capability: string, on?: UseOf): Promise<void>;
  /** Files of the call's workspace, staged with it. Each access is a use of a `filesystem` capability. */
  readonly files: FileAccess;
}

/** Facts about the call that a tool may see. */
export interface CallFacts {
  callId: string;
  executionId: string;
  attempt: number;
  tenant: string;
  agent: string;
  user?: string;
  session?: string;
  deadlineAt: number;
  /** To be sent along, so that what others do for the call is found in the same trace. */
  trace?: TraceContext;
}

export interface Job {
  tool: string;
  version: string;
  operation: string;
  implementation: Implementation;
  input: JsonValue;
  facts: CallFacts;
  host: ToolHost;
  timeoutMs: number;
  memoryBytes: number;
  maxOutputBytes: number;
  /** Aborted when the call is cancelled; the runner itself watches the deadline. */
  signal: AbortSignal;
  /** For a tool that runs in a process of its own: what that process may see, reach and use. */
  confinement?: Confinement;
}

export type OutputListener = (stream: "stdout" | "stderr", chunk: Uint8Array) => void;

/** The bounds of a process, drawn from the manifest, the agent and the house's policy. */
export interface Confinement {
  level: IsolationLevel;
  mounts: readonly SandboxMount[];
  hidden: readonly string[];
  egress: readonly EgressRule[];
  limits: SandboxLimits;
  bounds?: AgentBounds;
  /** The folder it may change, staged. */
  staging?: FileStaging;
  cwd: string;
  /** Given what the process writes, as it comes. */
  onOutput?: OutputListener;
  /** Told of what happens to the sandbox, for the record. */
  onEvent?(event: "SANDBOX_CREATED" | "SANDBOX_DESTROYED"): void;
}

/** How a tool's code is reached. A function in this process, or a module that any thread can import. */
export type Implementation =
  | {
      kind: "inline";
      operations: Record<string, ToolFunction>;
      /** The tool's own line about a call, by operation, for whoever approves it. */
      summaries?: Readonly<Record<string, (input: JsonValue) => string>>;
    }
  | { kind: "thread"; moduleUrl: string }
  /** The same module in a sandboxed Node process of its own. */
  | { kind: "script"; moduleUrl: string }
  | { kind: "process"; programs: Readonly<Record<string, ProcessProgram>> };

/** A command that does an operation: started for each call, never through a shell. */
export interface ProcessProgram {
  /**
   * Program and arguments. An element `{name}` becomes that argument of the call and `{name...}` each item of a list;
   * an element whose argument was not given is left out.
   */
  command: readonly string[];
  /** `json`: the input comes on stdin as one JSON line. Otherwise stdin is empty. */
  stdin: "json" | "none";
  /** `json`: stdout is the result. `text`: the result is { exitCode, stdout, stderr }. */
  stdout: "json" | "text";
  /** Exit codes that count as done; any other is E3108. */
  success: readonly number[];
  env: Readonly<Record<string, string>>;
}

// biome-ignore lint/suspicious/noExplicitAny: the tool author's own input type; the schema guarantees it
export type ToolFunction = (input: any, context: ToolContext) => unknown;

/** What a tool's code is given besides its input. */
export interface ToolContext extends CallFacts {
  readonly signal: AbortSignal;
  readonly state: StateAccess;
  /** The call's workspace: what it changes here is committed with the outcome, or not at all. */
  readonly files: FileAccess;
  progress(percent: number, phase?: string): void;
  use(capability: string, on?: UseOf): Promise<void>;
}

export interface RunUsage {
  cpuMs: number;
  memoryPeakBytes: number;
  networkBytesSent?: number;
  networkBytesReceived?: number;
}

/** How a run went wrong, before anybody decides what that means for the call. */
export type RunFault =
  | { kind: "threw"; message: string; stack?: string; invalidInput?: boolean; code?: ErrorCode }
  | { kind: "timeout" }
  | { kind: "cancelled" }
  | { kind: "memory"; message: string }
  | { kind: "died"; message: string }
  | { kind: "not_json"; message: string }
  | { kind: "output_too_large"; bytes: number }
  | { kind: "limit"; limit: LimitName; message: string }
  /** With the ends of what it printed. */
  | { kind: "exit"; code: number; stderr: string; stdout?: string }
  | { kind: "crashed"; message: string }
  | { kind: "violation"; message: string }
  /** No sandbox could be had: nothing ran. */
  | { kind: "refused"; failure: Failure };

/** What a sandboxed run adds to its result. */
export interface SandboxReport {
  isolation: Isolation;
  enforcement: Enforcement;
  violations: Violation[];
}

export type RunResult = (
  | { ok: true; output: JsonValue; usage: RunUsage }
  | { ok: false; fault: RunFault; usage: RunUsage }
) & { sandbox?: SandboxReport };

/** Runs one job at a time per caller. Never rejects: whatever a tool does is a result. */
export interface Runner {
  readonly isolation: Isolation;
  run(job: Job): Promise<RunResult>;
  /** Ends what waits with a tool's code, because the tool was replaced or is kept apart. Left out: nothing waits. */
  retire?(tool: string): Promise<void>;
  /** Ends every thread or process the runner holds. */
  close(): Promise<void>;
}
