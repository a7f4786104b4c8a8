import type { Caller, CallOrder, Failure } from "@sallyport/protocol";
import type { Admission } from "../admit/admission.ts";
import type { ApprovalRules } from "../approve/ask.ts";
import type { CapabilityTree, GrantShelf, GrantSigner } from "../authorise/capability/index.ts";
import type { HookRunner } from "../execute/hooks.ts";
import type { RetryOptions } from "../execute/retry.ts";
import type { Authority } from "../ports/authority.ts";
import type { Bus } from "../ports/bus.ts";
import type { OutputListener, Runner } from "../ports/runner.ts";
import type { Store } from "../ports/store.ts";
import type { ErrorHandler } from "../ports/telemetry.ts";
import type { Clock, Ids, Random } from "../ports/time.ts";
import type { TraceContext } from "../ports/trace.ts";
import type { ToolRegistry } from "../registry/index.ts";
import type { Telemetry } from "../telemetry/index.ts";
import type { JsonLimits, SchemaCompiler } from "../validate/index.ts";
import type { ResultStep } from "../validate/result-steps.ts";
import type { CallQueue } from "./call-queue.ts";
import type { InFlight } from "./in-flight.ts";
import type { IsolationRules } from "./isolation-rules.ts";
import type { LiveFeeds } from "./live-feeds.ts";
import type { ToolShelf } from "./tool-shelf.ts";

/** The rooms of the engine, wired. Stages see nothing else. */
export interface House {
  readonly store: Store;
  readonly registry: ToolRegistry;
  readonly tools: ToolShelf;
  readonly schemas: SchemaCompiler;
  readonly authority: Authority;
  readonly approvals: ApprovalRules;
  readonly bus: Bus;
  /** Absent where no key was given: then no grant can be made. */
  readonly signer: GrantSigner | undefined;
  readonly capabilities: CapabilityTree;
  readonly shelf: GrantShelf | undefined;
  /** Ends the running calls that rest on any of these grants; gives back which. */
  endCalls(grantIds: readonly string[], why: Failure): string[];
  readonly admission: Admission;
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
  readonly inFlight: InFlight;
  readonly feeds: LiveFeeds;
  readonly queue: CallQueue;
  readonly limits: EngineLimits;
  /** What the operator says about single tools; it can change while the house is open. */
  readonly toolRules: { of(tool: string): ToolRule | undefined };
  readonly retry: RetryOptions;
  /** This run of the process, so that a crash can be told from a call that is still running. */
  readonly owner: string;
}

/** By the kind of implementation; one that is absent cannot be had here. */
export interface Runners {
  inline: Runner;
  thread: Runner;
  process?: Runner | undefined;
  script?: Runner | undefined;
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
  /** How long the authority may take before its silence counts as a no. */
  decisionMs: number;
  hookMs: number;
  /** How long the store may take before it counts as lost. */
  storeMs: number;
  /** Accepted calls that may wait for room. */
  queued: number;
}

export const DEFAULT_LIMITS: EngineLimits = {
  input: { maxBytes: 256 * 1024, maxDepth: 64, maxValues: 50_000 },
  maxOutputBytes: 1024 * 1024,
  decisionMs: 500,
  hookMs: 5_000,
  storeMs: 30_000,
  queued: 10_000,
};

/** A call as the engine takes it: who it is for is settled by the door. */
export interface CallRequest extends Omit<CallOrder, "caller" | "input"> {
  caller: Caller;
  /** Anything; what is not JSON is refused. */
  input: unknown;
  signal?: AbortSignal;
  /** Given what a process writes while it runs, as it comes. What it throws is ignored. */
  onOutput?: OutputListener;
  /** The trace this call is part of, as W3C trace context; passed on. */
  trace?: TraceContext;
  /** Once a person has approved it, it goes on by itself; nobody has to ask for it again. */
  unattended?: boolean;
  /**
   * `full`: the door vouches that the caller may know every tool, as an operator may. Otherwise refusals do not tell
   * whether a tool exists to somebody whom nothing lets use it.
   */
  disclosure?: "full";
}
