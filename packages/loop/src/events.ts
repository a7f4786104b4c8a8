import type { AlwaysAllow } from "@sallyport/engine";
import type { Failure, FileEffects, JsonValue, Risk } from "@sallyport/protocol";
import type { JournaledCall, OpenBatch } from "./conversations-port.ts";

/** A call of the batch as it stands, for whoever watches (FR-TUI-02). */
export type CallState =
  | { state: "pending" }
  | { state: "asking" }
  | { state: "executing" }
  | { state: "completed"; isError: boolean }
  /** Nothing ran: refused, denied or cancelled before its turn. */
  | { state: "resolved"; reason: string };

/** A call in a few words. */
export interface CallLine {
  index: number;
  id: string;
  name: string;
  /** One line about the call, at most 200 characters; the tool's own where it has one. */
  summary: string;
  risk: Risk;
}

export interface PlannedView extends CallLine {
  call: CallState;
}

/** A call a person is asked about (FR-APR-03, FR-TUI-01). */
export interface Question extends CallLine {
  /** The arguments, secrets redacted. */
  input: JsonValue;
  /** `policy`: a standing grant can answer for the next one like it. `tool`: it is asked about every time. */
  because: "policy" | "tool" | "caller";
  approvalId: string;
  preview?: FileEffects;
}

export type PersonDecision =
  | { kind: "approve"; always?: AlwaysAllow }
  | { kind: "deny"; reason?: string }
  /** Runs with these arguments instead, which are checked like any others. */
  | { kind: "edit"; input: JsonValue };

/** The answer to all questions of a batch (FR-APR-03). A question nobody answers is denied. */
export type ApprovalDecision =
  | { kind: "approve_all" }
  | { kind: "approve_selected"; indexes: readonly number[] }
  | { kind: "deny_all"; reason?: string }
  | { kind: "each"; words: ReadonlyMap<number, PersonDecision> };

/** Asks the person. Absent where nobody is there: then what needs a person is denied. */
export interface Person {
  /** Rejects or resolves early when the signal aborts; either way the questions are then denied. */
  decide(questions: readonly Question[], signal: AbortSignal): Promise<ApprovalDecision>;
  /** An edit could not be used; the question is put again with this beside it. */
  refused?(question: Question, error: Failure): void;
}

/** Where a conversation stands. */
export type LoopState =
  | { state: "idle" }
  | { state: "streaming" }
  /** Mode parse_only: the person supplies the results. */
  | { state: "awaiting_results"; calls: readonly { id: string; name: string; arguments: string }[] }
  | { state: "awaiting_approval"; questions: readonly Question[] }
  | { state: "executing" }
  /** An earlier process ended in the middle of this batch. */
  | { state: "recovery"; batch: InterruptedBatch };

/** A batch that an earlier process left open. */
export interface InterruptedBatch extends OpenBatch {
  calls: (JournaledCall & {
    /** The line that planned calls have; the loop always gives it. */
    summary?: string;
  })[];
}

export type LoopEvent =
  | { kind: "state"; state: LoopState }
  | { kind: "text"; delta: string }
  | { kind: "reasoning"; delta: string }
  /** A call begins to come in. */
  | { kind: "call"; index: number; id: string; name: string }
  | { kind: "planned"; calls: readonly PlannedView[] }
  | { kind: "started"; index: number; id: string; name: string }
  | { kind: "stdout" | "stderr"; index: number; id: string; chunk: string }
  | { kind: "completed"; index: number; id: string; isError: boolean; content: string; effects?: FileEffects }
  /** A call that did not run, with why. */
  | { kind: "resolved"; index: number; id: string; reason: string }
  | { kind: "notice"; level: "info" | "warning"; text: string };

/** How a person's turn ended. */
export type TurnEnd =
  | { kind: "done"; text: string }
  | { kind: "cancelled" }
  | { kind: "awaiting_results" }
  | { kind: "failed"; error: Failure };

/** A conversation as a screen uses it. One thing at a time: a second `send` while one is under way is refused (E3958). */
export interface ConversationDoor {
  readonly id: string;
  readonly state: LoopState;
  /** Says something to the model and goes through all it asks for. Never rejects for what a model or a tool does. */
  send(text: string): Promise<TurnEnd>;
  /** Mode parse_only: the result of a pending call. Goes on with the model once every call has one. */
  submit(id: string, result: { content: string; isError: boolean }): Promise<TurnEnd | Failure>;
  /** After a crash: goes on with the results there are, or makes every one an error (FR-RES-05). Runs nothing again. */
  recover(choice: "resume" | "discard"): Promise<TurnEnd>;
  /** Stops what is under way; safe at any time. */
  cancel(): void;
  /** Told everything from now on, in order; slow listeners make fast tools wait or their chunks join. */
  listen(listener: (event: LoopEvent) => void | Promise<void>): () => void;
}
