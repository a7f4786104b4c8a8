import type { Caller, CallOrder, Failure } from "@sallyport/protocol";
import type { Admission } from "./admit/admission.ts";
import type { ApprovalRules } from "./approvals/record.ts";
import type { CapabilityTree, GrantIndex, GrantSigner } from "./authorise/grant/index.ts";
import type { HookRunner, RetryOptions, Runners } from "./execute/index.ts";
import type { Membership } from "./fleet/membership.ts";
import type { UnrecordedRuns } from "./journal/unrecorded.ts";
import type { UnknownCallers } from "./passage/unknown-callers.ts";
import type { Authority } from "./ports/authority.ts";
import type { QueuedCall } from "./ports/calls.ts";
import type { Bus, Clock, ErrorHandler, HostResources, Ids, Random, TraceContext } from "./ports/platform.ts";
import type { Implementation, OutputListener } from "./ports/runner.ts";
import type { IsolationRules } from "./ports/sandbox.ts";
import type { Store } from "./ports/store.ts";
import type { Quarantine, ToolRecord } from "./ports/tools.ts";
import type { EventBuilder } from "./publish/index.ts";
import type { ToolRegistry } from "./registry/index.ts";
import type { CallsElsewhere } from "./running/elsewhere.ts";
import type { LiveFeeds } from "./running/live-feed.ts";
import type { RunningCalls } from "./running/running-calls.ts";
import type { Telemetry } from "./telemetry/index.ts";
import type { JsonLimits, ResultStep, SchemaCompiler } from "./validate/index.ts";

/**
 * The modules of an engine, composed: what a stage of the passage gets besides the call. It names no class that takes it,
 * so that no module imports its own user; other parts take the few members that they use.
 */
export interface EngineContext {
  readonly store: Store;
  /** The events that units leave for the sinks. */
  readonly events: EventBuilder;
  readonly registry: ToolRegistry;
  readonly schemas: SchemaCompiler;
  /** Left out of the options: nothing may run. */
  readonly authority: Authority;
  readonly approvals: ApprovalRules;
  readonly bus: Bus;
  /** Signs grants. Absent: none can be made, and stored ones do not count. */
  readonly signer: GrantSigner | undefined;
  readonly capabilities: CapabilityTree;
  /** The stored grants as the authority sees them, so that what is granted here counts at once. */
  readonly grantIndex: GrantIndex | undefined;
  /** Keeps a tool version from every caller until a person releases it. Rejects when that cannot be written. */
  quarantine(tool: string, version: string, order: QuarantineOrder): Promise<ToolRecord | Failure>;
  readonly admission: Admission;
  /** By the kind of implementation that they run; `inline` and `thread` are always there. */
  readonly runners: Runners;
  /** Absent: no tool can run in a process of its own, and none has a workspace. */
  readonly isolation: IsolationRules | undefined;
  readonly resultSteps: readonly ResultStep[];
  /** Absent when there are none, so that a call pays nothing for them. */
  readonly hooks: HookRunner | undefined;
  readonly telemetry: Telemetry;
  readonly errors: ErrorHandler;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly inFlight: RunningCalls;
  readonly elsewhere: CallsElsewhere;
  readonly feeds: LiveFeeds;
  readonly outputs: OutputHistory;
  readonly queue: AcceptedCalls;
  readonly unknownCallers: UnknownCallers;
  readonly limits: EngineLimits;
  /** Left out of the options: the machine this runs on. */
  readonly host: HostResources;
  /** What the operator says about single tools; it can change while the engine is open. */
  readonly toolRules: { of(tool: string): ToolRule | undefined };
  readonly retry: RetryOptions;
  /** This instance, so that a crash can be told from a call that is still running. */
  readonly owner: string;
  readonly membership: Membership;
  readonly unrecorded: UnrecordedRuns;
}

/** Why a version is quarantined, and by whom. */
export type QuarantineOrder = Omit<Quarantine, "at">;

/** The queue as the passage uses it. */
export interface AcceptedCalls {
  /** Keeps a place for a call that is being put on record; false when there is none. */
  reserve(caller: Pick<QueuedCall, "tenant" | "agent">): boolean;
  /** Gives the place back: the call is in the queue now, or does not come. */
  unreserve(caller: Pick<QueuedCall, "tenant" | "agent">): void;
  /** Takes charge of a call that is on record. False when somebody has already. */
  push(call: QueuedCall): boolean;
  /** Asks a call to stop. Resolves when that is on record; undefined when the queue does not have it. */
  cancel(callId: string, reason: string): Promise<void> | undefined;
}

/** What deterministic tools gave back before. */
interface OutputHistory {
  /** Whether an output differs from the one that was seen before under the same circumstances. */
  differs(at: { implementation: Implementation; circumstances: string }, output: OutputDigests): boolean;
}

/** What tells outputs apart. */
export interface OutputDigests {
  text: string;
  /** Of its canonical form: the order of members is no difference. Asked for only when the text differs. */
  canonical(): string;
}

/** The operator's word about a tool, whatever its manifest says. */
export interface ToolRule {
  /** False: it does not run. */
  enabled?: boolean;
  /** The most time a call may take; it never gives a tool more than its manifest does. */
  timeoutMs?: number;
}

export interface EngineLimits {
  input: JsonLimits;
  /** For tools that declare no limit of their own. */
  maxOutputBytes: number;
  /**
   * How long the authority may take before its silence counts as a no. Longer than a policy may take (500 ms), so that
   * it is always the silent policy that is named.
   */
  decisionMs: number;
  hookMs: number;
  /** How long the store may take before it counts as lost. */
  storeMs: number;
  /** Accepted calls that may wait for room. */
  queued: number;
  /** How often a shared store is asked for changes that no message told of. */
  followMs: number;
}

export const DEFAULT_LIMITS: EngineLimits = {
  input: { maxBytes: 256 * 1024, maxDepth: 64, maxValues: 50_000 },
  maxOutputBytes: 1024 * 1024,
  decisionMs: 1_000,
  hookMs: 5_000,
  storeMs: 30_000,
  queued: 10_000,
  followMs: 2_000,
};

/** A call as the engine takes it: who it is for is settled by the door. */
export interface CallRequest extends Omit<CallOrder, "caller" | "input"> {
  caller: Caller;
  /** Anything; what is not JSON is refused. */
  input: unknown;
  signal?: AbortSignal;
  /** Given what a process writes and a tool shows while it runs, as it comes. What it throws is ignored. */
  onOutput?: OutputListener;
  /** How much of a result the caller has room for, told to the tool; 64 KiB when left out (FR-REG-04). */
  availableBytes?: number;
  /** The trace this call is part of, as W3C trace context; passed on. */
  trace?: TraceContext;
  /** Once a person has approved it, it goes on by itself; nobody has to ask for it again. */
  unattended?: boolean;
  /** The caller says itself who it is and the door does not know better: its tenant counts only if a grant knows it. */
  selfNamed?: boolean;
  /**
   * `full`: the door vouches that the caller may know every tool, as an operator may. Otherwise refusals do not tell
   * whether a tool exists to somebody whom nothing lets use it.
   */
  disclosure?: "full";
}
