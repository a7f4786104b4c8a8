import type { LoopEvent, LoopState, TurnEnd } from "@sallyport/loop";
import type { Risk } from "@sallyport/protocol";
import type { ChangedFile } from "./changed-files.ts";
import type { OutputRing } from "./output-ring.ts";

/** How a call of the batch stands (FR-TUI-02). `incoming`: the model is still writing it. */
export type CallStanding =
  | { state: "incoming" }
  | { state: "pending" }
  | { state: "asking" }
  | { state: "executing" }
  | { state: "completed"; isError: boolean; said: string }
  | { state: "resolved"; reason: string };

/** A call as it is shown. */
export interface ShownCall {
  index: number;
  id: string;
  name: string;
  summary: string;
  risk?: Risk;
  standing: CallStanding;
  files: readonly ChangedFile[];
  moreFiles: number;
  /** The last lines it wrote while it ran, and how many there were. */
  tail: readonly string[];
  lineCount: number;
}

/** Something finished: it is written once and never changes. */
export type Entry =
  | { kind: "user"; text: string }
  /** Whole lines of the model; `first` begins an answer. */
  | { kind: "assistant"; text: string; first: boolean }
  | { kind: "reasoning"; text: string; first: boolean }
  | { kind: "call"; call: ShownCall }
  | { kind: "notice"; level: "info" | "warning" | "error"; text: string }
  /** What a command answered. */
  | { kind: "block"; title: string; lines: readonly string[] };

/** What the model is in the middle of saying. */
export interface Speech {
  kind: "assistant" | "reasoning";
  /** The line that is not complete yet. */
  partial: string;
  /** False once a line of it is among the entries. */
  first: boolean;
}

/** Everything that is shown of a conversation. Holds only text that may be shown. */
export interface ScreenState {
  entries: readonly Entry[];
  speech?: Speech;
  /** The calls of the batch from the first one that is not finished. */
  calls: readonly ShownCall[];
  output?: OutputRing;
  loop: LoopState;
}

/** What a call wrote. `restarts`: it begins with what replaces the line that was not complete. */
export type OutputEvent = Extract<LoopEvent, { kind: "stdout" | "stderr" }> & { restarts?: true };

/** What changes the screen: the loop's events, and what the person did. All of it is clean already. */
export type ScreenEvent =
  | Exclude<LoopEvent, { kind: "stdout" | "stderr" }>
  | OutputEvent
  | { kind: "said"; text: string }
  | { kind: "ended"; end: TurnEnd }
  | { kind: "entries"; entries: readonly Entry[] }
  | { kind: "scrolled"; by: number; height: number }
  | { kind: "cleared" };

export function emptyScreen(loop: LoopState = { state: "idle" }): ScreenState {
  return { entries: [], calls: [], loop };
}
