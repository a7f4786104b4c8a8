import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Approvals, CallRequest, Engine } from "@sallyport/engine";
import type { Clock, Ids } from "@sallyport/engine/ports";
import { type Caller, DEFAULT_LIMITS, type Failure, type JsonValue } from "@sallyport/protocol";
import type { Conversations, JournaledCall, Turn } from "./conversations-port.ts";
import type { LoopEvent, Person } from "./events.ts";
import { DEFAULT_LOOP_LIMITS, FALLBACK_CAPACITY_BYTES, type LoopSettings } from "./settings.ts";
import type { LoopTool, OfferedTool } from "./tools.ts";

/** What the loop needs of the engine: every call goes this way. */
export interface LoopEngine extends Pick<Engine, "plan" | "call" | "resume" | "cancelCall" | "standing"> {
  readonly approvals: Pick<Approvals, "get" | "approve" | "deny" | "edit">;
}

/** How much one call may give back to the model (FR-REG-04). Made fresh for each call. */
export interface OutputBudget {
  readonly maxOutputBytes: number;
  readonly availableBytes: number;
  /** A tool that keeps to the room itself sets this to false: its output is then not cut by anybody else. */
  allowTruncation: boolean;
}

/** Where a tool finds the room of the call it runs for. */
export interface OutputBudgetOf {
  of(callId: string): OutputBudget;
}

/** The output budgets of running calls. A call without a budget of its own gets the conservative default. */
export class OutputBudgets implements OutputBudgetOf {
  readonly #outputBudgets = new Map<string, OutputBudget>();

  give(callId: string, room: { maxOutputBytes: number; availableBytes: number }): OutputBudget {
    const fresh = { ...room, allowTruncation: true };
    this.#outputBudgets.set(callId, fresh);
    return fresh;
  }

  of(callId: string): OutputBudget {
    const { maxOutputBytes } = DEFAULT_LOOP_LIMITS;
    const conservative = { maxOutputBytes, availableBytes: FALLBACK_CAPACITY_BYTES, allowTruncation: true };
    return this.#outputBudgets.get(callId) ?? conservative;
  }

  drop(callId: string): void {
    this.#outputBudgets.delete(callId);
  }
}

type CallPart = Extract<LanguageModelV4StreamPart, { type: "tool-input-start" | "tool-call" }>;

/**
 * What comes from a model: the AI SDK's parts, and how it ended when it did not finish. A call that the SDK gave another
 * id than the model did, so that two calls of one id can be told apart in the stream, has the model's as `wireId`.
 */
export type AnswerPart =
  | Exclude<LanguageModelV4StreamPart, CallPart>
  | (CallPart & { wireId?: string })
  | { type: "failed"; error: Failure }
  | { type: "aborted" };

/** Asks a model once. Stops when the options' signal aborts. */
export type StartModel = (options: LanguageModelV4CallOptions) => AsyncIterable<AnswerPart>;

/** A call as the model has asked for it. */
export interface AskedCall extends Pick<JournaledCall, "index" | "id" | "name" | "arguments"> {
  meta?: JsonValue;
  /** The model stopped before the call was complete: it must not run. */
  isCut?: boolean;
}

/** The same with the engine's id for it. */
export type SealedCall = AskedCall & { callId: string };

export interface ModelAnswer {
  /** Text and reasoning in the order they came; the calls follow. */
  turns: Turn[];
  text: string;
  calls: AskedCall[];
  /** Tokens of everything the model was given and gave, when it says so. */
  usedTokens?: number;
  /** It ended before it was complete. */
  error?: Failure;
}

/** Keeps tool output that is too long for the model, whole. */
export interface Spill {
  /** Resolves with the name it can be read by later. */
  keep(output: { conversationId: string; callId: string; text: string }): Promise<string>;
  /** How the model reads the rest, in one sentence with the name in it. */
  hint(name: string): string;
}

/** What a conversation works with. */
export interface LoopParts {
  engine: LoopEngine;
  conversations: Conversations;
  /** `provider/model`, for the record. */
  model: string;
  startModel: StartModel;
  /** On whose behalf tools are called; the conversation becomes the session. */
  caller: Caller;
  /**
   * The folder that a person's "always" is bound to: the one the engine's authority weighs calls by
   * (`AuthorityOptions.project`), or it will never match. Absent: an "always" holds wherever the house works.
   */
  project?: string;
  tools: readonly LoopTool[];
  /** Tools by hand, for mode parse_only (CFG-TOOLS-02). */
  manual?: readonly OfferedTool[];
  settings: LoopSettings;
  outputBudgets: OutputBudgets;
  /** Absent: what needs a person is denied. */
  person?: Person;
  /** Absent: what is too long is cut. */
  spill?: Spill;
  clock: Clock;
  ids: Ids;
}

/** The same for one batch of one conversation. */
export interface BatchContext extends LoopParts {
  conversationId: string;
  batchId: string;
  /** Which batch of the person's turn it is, from 1. */
  iteration: number;
  /** For all results of the batch together. */
  capacityBytes: number;
  signal: AbortSignal;
  tell(event: LoopEvent): void | Promise<void>;
}

/** The engine's tool behind one of the loop's. */
export function targetOf({ tool, version, operation }: LoopTool) {
  return { tool, ...(version !== undefined && { version }), ...(operation !== undefined && { operation }) };
}

/** A call of a batch as the engine is asked for it. The conversation is the session. */
export function orderOf(
  { tool, input, callId }: { tool: LoopTool; input: JsonValue; callId: string },
  { caller, conversationId, settings, signal }: BatchContext,
): CallRequest {
  // A call may not ask for more than its tool states, and a tool that states nothing has this.
  const timeoutMs = Math.min(settings.defaultTimeoutMs, DEFAULT_LIMITS.timeoutMs);
  return {
    ...targetOf(tool),
    input,
    callId,
    caller: { ...caller, session: conversationId },
    disclosure: "full",
    signal,
    ...(tool.timeout === "default" && { limits: { timeoutMs } }),
  };
}
