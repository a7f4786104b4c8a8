import type { Caller, CallOrder } from "@sallyport/protocol";
import type { Admission } from "../admit/admission.ts";
import type { ApprovalDesk } from "../approve/desk.ts";
import type { HookRunner } from "../execute/hooks.ts";
import type { RetryOptions } from "../execute/retry.ts";
import type { Authority } from "../ports/authority.ts";
import type { Runner } from "../ports/runner.ts";
import type { Store } from "../ports/store.ts";
import type { ErrorHandler } from "../ports/telemetry.ts";
import type { Clock, Ids, Random } from "../ports/time.ts";
import type { ToolRegistry } from "../registry/index.ts";
import type { Telemetry } from "../telemetry/index.ts";
import type { JsonLimits, SchemaCompiler } from "../validate/index.ts";
import type { ResultStep } from "../validate/result-steps.ts";
import type { InFlight } from "./in-flight.ts";

/** The rooms of the engine, wired. Stages see nothing else. */
export interface House {
  readonly store: Store;
  readonly registry: ToolRegistry;
  readonly schemas: SchemaCompiler;
  readonly authority: Authority;
  readonly desk: ApprovalDesk;
  readonly admission: Admission;
  readonly runners: { inline: Runner; thread: Runner };
  readonly resultSteps: readonly ResultStep[];
  /** Absent when there are none, so that a call pays nothing for them. */
  readonly hooks: HookRunner | undefined;
  readonly telemetry: Telemetry;
  readonly errors: ErrorHandler;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly inFlight: InFlight;
  readonly limits: EngineLimits;
  readonly retry: RetryOptions;
  /** This run of the process, so that a crash can be told from a call that is still running. */
  readonly owner: string;
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
}

export const DEFAULT_LIMITS: EngineLimits = {
  input: { maxBytes: 256 * 1024, maxDepth: 64, maxValues: 50_000 },
  maxOutputBytes: 1024 * 1024,
  decisionMs: 500,
  hookMs: 5_000,
  storeMs: 30_000,
};

/** A call as the engine takes it: who it is for is settled by the door. */
export interface CallRequest extends Omit<CallOrder, "caller" | "input"> {
  caller: Caller;
  /** Anything; what is not JSON is refused. */
  input: unknown;
  signal?: AbortSignal;
}
