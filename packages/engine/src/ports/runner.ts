import type {
  CallStatus,
  Enforcement,
  ErrorCode,
  Failure,
  Isolation,
  JsonValue,
  LimitName,
  SideEffects,
  ToolManifest,
} from "@sallyport/protocol";
import type { CallIdentity } from "./calls.ts";
import type { TraceContext } from "./platform.ts";
import type {
  AgentBounds,
  IsolationRules,
  SandboxEnd,
  SandboxLimits,
  SandboxOrder,
  SandboxUsage,
} from "./sandbox.ts";
import type { StateAccess } from "./state.ts";
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
  /** Shows text to whoever watches the call; false when the call has shown its `maxOutputBytes` already. Never rejects. */
  output(text: string): Promise<boolean>;
  /** Asserts that the tool may use a capability this way; rejects, and ends the call, when it may not. */
  use(capability: string, on?: UseOf): Promise<void>;
  /**
   * Files of the call's workspace: what it changes here is committed with the outcome, or not at all. Each access is a use
   * of a `filesystem` capability.
   */
  readonly files: FileAccess;
}

/** Facts about the call that a tool may see. */
export interface CallFacts extends Pick<CallIdentity, "callId" | "tenant" | "agent" | "user" | "session"> {
  executionId: string;
  attempt: number;
  deadlineAt: number;
  /** A larger result is refused. */
  maxOutputBytes: number;
  /** How much of a result there is room for where it goes (FR-REG-04): a tool may give back less. */
  availableBytes: number;
  /** Where relative paths of `files` start; absent for a tool without a folder. */
  workingFolder?: string;
  /** To be sent along, so that what others do for the call is found in the same trace. */
  trace?: TraceContext;
}

export interface Job extends Pick<CallIdentity, "tool" | "version" | "operation"> {
  implementation: Implementation;
  input: JsonValue;
  facts: CallFacts;
  host: ToolHost;
  timeoutMs: number;
  memoryBytes: number;
  /** Left out: processor time is not limited. */
  cpuMs?: number;
  maxOutputBytes: number;
  /** Aborted when the call is cancelled; the runner itself watches the deadline. */
  signal: AbortSignal;
  /** For a tool that runs in a process of its own: what that process may see, reach and use. */
  confinement?: Confinement;
}

export type OutputListener = (stream: "stdout" | "stderr", chunk: Uint8Array) => void;

/** The bounds of a process, drawn from the manifest, the agent and the house's policy. */
export interface Confinement
  extends Pick<SandboxOrder, "level" | "mounts" | "hidden" | "egress" | "limits" | "bounds" | "cwd"> {
  /** The folder it may change, staged. */
  staging?: FileStaging;
  /** Given what the process writes, as it comes. */
  onOutput?: OutputListener;
  /** Told of what happens to the sandbox, for the record. */
  onEvent?(event: "SANDBOX_CREATED" | "SANDBOX_DESTROYED"): void;
}

/** How a tool's code is reached. Its kind says which runner knows the rest: each runner describes its own. */
export interface Implementation {
  readonly kind: string;
  /** The tool's own line about a call, by operation, for whoever approves it. */
  readonly summaries?: Readonly<Record<string, (input: JsonValue) => string>>;
  /** No code of the tool is loaded to run it: a call that waits still runs once a newer version is loaded instead. */
  readonly outlivesVersion?: true;
  readonly [detail: string]: unknown;
}

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
export interface ToolContext extends CallFacts, Omit<ToolHost, keyof StateAccess> {
  readonly signal: AbortSignal;
  readonly state: StateAccess;
}

/** What a caller that does not say so is taken to have room for (FR-REG-04). */
export const UNKNOWN_CAPACITY_BYTES = 64 * 1024;

/** Network bytes are left out where nothing counts them. */
export type RunUsage = Pick<SandboxUsage, "cpuMs" | "memoryPeakBytes"> & Partial<SandboxUsage>;

/** How a run went wrong, before anybody decides what that means for the call. */
export type RunFault =
  | {
      kind: "threw";
      message: string;
      stack?: string;
      invalidInput?: boolean;
      code?: ErrorCode;
      /** What a declared failure says for programs, such as which file it is about. */
      details?: Record<string, string>;
    }
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
  /** The runner knows the catalogue's word for it, such as for what a worker reported. */
  | { kind: "failed"; failure: Failure }
  /** No sandbox could be had: nothing ran. */
  | { kind: "refused"; failure: Failure };

/** What a sandboxed run adds to its result. */
export interface SandboxReport extends Pick<SandboxEnd, "enforcement" | "violations"> {
  isolation: Isolation;
}

export type RunResult =
  /** `text` is the output as `JSON.stringify` writes it, where the runner has it already. */
  (
    | { ok: true; output: JsonValue; text?: string; usage: RunUsage }
    | { ok: false; fault: RunFault; usage: RunUsage }
  ) & { sandbox?: SandboxReport };

/** A call, as far as a runner looks at it to prepare for it. */
export interface CallToPrepare {
  callId: string;
  tool: Pick<ToolManifest, "id" | "permissions" | "egressAllowlist">;
  sideEffects: SideEffects;
  /** What a process of it may use at most: the tightest of request, tool and agent. */
  limits(): SandboxLimits;
  /** The bounds of its agent. */
  bounds?: AgentBounds | undefined;
  /** It is tried out: what it does is to be dropped. */
  dryRun: boolean;
}

/** What a runner needs for a call, before it runs. Nothing is made yet. */
export interface PreparedCall {
  /** The bounds of its process; left out: it has none of its own. */
  confinement?: Confinement | undefined;
  /** Its workspace; left out: it has none. */
  staging?: FileStaging | undefined;
}

/**
 * Runs the tools whose implementation is of one kind. The engine knows no kind by name but the two that it brings itself:
 * what a kind needs beyond `run`, its runner says here.
 */
export interface Runner {
  /** The kind of implementation that it runs. */
  readonly kind: string;
  readonly isolation: Isolation;
  /** Which limits it holds, and how; left out by a runner that says it on each result. */
  readonly enforcement?: Enforcement;
  /** Each call runs in a sandbox of its own, at least at the level that the operator demands of the tool. */
  readonly isSandboxed?: boolean;
  /**
   * Reads the implementation out of a manifest, where none is given with it and after a restart; undefined when the
   * manifest is not of its kind. A Failure refuses the manifest. Left out: whoever loads the tool gives it again.
   */
  bind?(manifest: ToolManifest): Implementation | Failure | undefined;
  /** Decides isolation, workspace and limits of a call. Left out: as for code that runs in this process. */
  prepare?(call: CallToPrepare, rules: IsolationRules | undefined): PreparedCall | Failure;
  /** Never rejects: whatever a tool does is a result. One that is there at once is given without a promise. */
  run(job: Job): RunResult | Promise<RunResult>;
  /** Ends what waits with a tool's code, because the tool was replaced or is kept apart. Left out: nothing waits. */
  retire?(tool: string): Promise<void>;
  /** Ends every thread or process the runner holds. */
  close(): Promise<void>;
}

/** What a hook is told of a call. */
export interface HookCall extends CallIdentity, CallFacts {}

/**
 * Runs around every execution (MCX-2), in the order given. A `before` that throws refuses the call unless it is
 * marked `optional`; an `after` always runs, and whatever it throws is reported and changes nothing.
 */
export interface Hook {
  name: string;
  optional?: boolean;
  before?(call: HookCall): void | Promise<void>;
  after?(call: HookCall, ending: { status: CallStatus }): void | Promise<void>;
}
