import type { Isolation, JsonValue } from "@sallyport/protocol";
import type { StateAccess } from "./transaction.ts";

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
}

/** How a tool's code is reached. A function in this process, or a module that any thread can import. */
export type Implementation =
  | {
      kind: "inline";
      operations: Record<string, ToolFunction>;
      /** The tool's own line about a call, by operation, for whoever approves it. */
      summaries?: Readonly<Record<string, (input: JsonValue) => string>>;
    }
  | { kind: "thread"; moduleUrl: string };

// biome-ignore lint/suspicious/noExplicitAny: the tool author's own input type; the schema guarantees it
export type ToolFunction = (input: any, context: ToolContext) => unknown;

/** What a tool's code is given besides its input. */
export interface ToolContext extends CallFacts {
  readonly signal: AbortSignal;
  readonly state: StateAccess;
  progress(percent: number, phase?: string): void;
  use(capability: string, on?: UseOf): Promise<void>;
}

export interface RunUsage {
  cpuMs: number;
  memoryPeakBytes: number;
}

/** How a run went wrong, before anybody decides what that means for the call. */
export type RunFault =
  | { kind: "threw"; message: string; stack?: string; invalidInput?: boolean }
  | { kind: "timeout" }
  | { kind: "cancelled" }
  | { kind: "memory"; message: string }
  | { kind: "died"; message: string }
  | { kind: "not_json"; message: string }
  | { kind: "output_too_large"; bytes: number };

export type RunResult =
  | { ok: true; output: JsonValue; usage: RunUsage }
  | { ok: false; fault: RunFault; usage: RunUsage };

/** Runs one job at a time per caller. Never rejects: whatever a tool does is a result. */
export interface Runner {
  readonly isolation: Isolation;
  run(job: Job): Promise<RunResult>;
  /** Ends every thread or process the runner holds. */
  close(): Promise<void>;
}
