import type { ApprovalDecision, PersonDecision, Question } from "@sallyport/loop";
import type { Failure } from "@sallyport/protocol";
import type { StandingScope } from "../standing-scopes.ts";
import type { Draft } from "./draft.ts";

/** What the person does in the prompt at the moment. */
export type PromptTask =
  | { task: "choose" }
  | { task: "help" }
  | { task: "reason"; draft: Draft }
  | { task: "scope"; at: number; scopes: readonly StandingScope[] }
  | { task: "edit"; draft: Draft; problem?: string };

/** What is shown of the current question besides its line. */
export type PromptView = "changes" | "arguments" | "nothing";

/** A question with the text that may be shown of it. */
export interface AskedQuestion {
  question: Question;
  /** As it came, for what goes back. */
  raw: Question;
  /** Why the last edit of it could not be used. */
  refusal?: Failure;
  /** The arguments as text, to be edited. */
  editable: string;
  scopes: readonly StandingScope[];
}

/**
 * The approval prompt (FR-TUI-01). Each question gets a word or none; what has none when the person is done is denied.
 * `choose` is the rest; every other task leads back to it, or to the end.
 */
export interface ApprovalPrompt {
  asked: readonly AskedQuestion[];
  at: number;
  words: ReadonlyMap<number, PersonDecision>;
  view: PromptView;
  scroll: number;
  doing: PromptTask;
  hint?: string;
}

/** How much of the prompt is on the screen. */
export interface ShownPrompt {
  /** False where the window is too small to show what is decided about. */
  fits: boolean;
  /** Rows of a page of the changes or arguments, and how far they can be scrolled. */
  page: number;
  most: number;
  /** How many of the questions have never been on the screen. */
  unseen: number;
  /** Which of the scopes that can be chosen are there: those without a place can be reached only by moving. */
  scopes: "all" | "current" | "none";
}

/** A key's circumstances. `alone`: it did not come in one piece with others, as pasted keys do. */
export interface PressedAt {
  shown: ShownPrompt;
  alone: boolean;
}

/** What a key leads to. */
export type PromptStep =
  | { kind: "prompt"; prompt: ApprovalPrompt }
  | { kind: "decided"; decision: ApprovalDecision };

export function approvalPrompt(asked: readonly AskedQuestion[]): ApprovalPrompt {
  const refused = asked.findIndex(({ refusal }) => refusal !== undefined);
  const at = Math.max(0, refused);
  const doing = { task: "choose" } as const;
  return { asked, at, words: new Map(), view: viewFor(asked[at]), scroll: 0, doing };
}

/** Changes where there are some, else the arguments. */
export function viewFor(asked: AskedQuestion | undefined): PromptView {
  return (asked?.question.preview?.files.length ?? 0) > 0 ? "changes" : "arguments";
}

/** True while keys are text. */
export function isWriting({ doing }: ApprovalPrompt): boolean {
  return doing.task === "reason" || doing.task === "edit";
}

export function currentOf({ asked, at }: ApprovalPrompt): AskedQuestion | undefined {
  return asked[at];
}

/** Runs what has a word, denies the rest. */
export function decisionOf({ asked, words }: ApprovalPrompt): ApprovalDecision {
  const plain = [...words.values()].every((word) => word.kind === "approve" && word.always === undefined);
  if (plain) return { kind: "approve_selected", indexes: [...words.keys()].sort((a, b) => a - b) };
  const each = asked.map(
    ({ raw }) => [raw.index, words.get(raw.index) ?? ({ kind: "deny" } as const)] as const,
  );
  return { kind: "each", words: new Map(each) };
}

/** Runs everything, with the words that were given. */
export function allOf(prompt: ApprovalPrompt): ApprovalDecision {
  if (prompt.words.size === 0) return { kind: "approve_all" };
  const rest = prompt.asked.map(({ raw }) => [raw.index, { kind: "approve" }] as const);
  const words = new Map<number, PersonDecision>([...rest, ...prompt.words]);
  const plain = [...words.values()].every((word) => word.kind === "approve" && word.always === undefined);
  return plain ? { kind: "approve_all" } : { kind: "each", words };
}
