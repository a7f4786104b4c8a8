import { type ApprovalPrompt, currentOf } from "../keys/approval-prompt.ts";
import { hintLines, promptHints } from "../keys/prompt-hints.ts";
import { isRisky } from "../question-text.ts";
import { wrapCells } from "../state/cell-width.ts";
import { isOneRow, questionHeight } from "./question-rows.ts";
import { leastTaskRows, scopeRows } from "./task-rows.ts";

/** Below this nothing can be asked. */
const LEAST = { columns: 20, rows: 4 };
const FRAME = { rows: 2, cells: 4, leastColumns: 40, leastDetail: 4 };

/** What of the prompt is shown, and in how many rows. */
export interface PromptLayout {
  /** False: what is decided about cannot be seen, and nothing but denying is offered. */
  fits: boolean;
  framed: boolean;
  /** Columns for text. */
  width: number;
  title: boolean;
  banner: boolean;
  /** The places of the questions in the list. */
  listed: readonly number[];
  because: boolean;
  refusal: readonly string[];
  /** Of the changes, the arguments, the editor or the help. */
  detail: { heading: boolean; rows: number };
  /** A word about what was just pressed. */
  hint: boolean;
  /** Rows of what the person does besides choosing: scopes or a reason. */
  task: number;
  keys: number;
  margin: boolean;
  status: boolean;
}

export interface Room {
  columns: number;
  /** Rows of the window. */
  rows: number;
  /** Of these, for something else. */
  taken: number;
}

/**
 * Shares out the rows of a window. First what is decided about, then the keys, then what helps to decide, then the rest;
 * what is left is for the changes or arguments, which can be scrolled.
 */
export function promptLayout(prompt: ApprovalPrompt, room: Room): PromptLayout {
  const framed = sharedOut(prompt, room, { framed: true });
  return framed.fits && framed.detail.rows >= FRAME.leastDetail
    ? framed
    : sharedOut(prompt, room, { framed: false });
}

function sharedOut(prompt: ApprovalPrompt, room: Room, { framed }: { framed: boolean }): PromptLayout {
  const width = room.columns - (framed ? FRAME.cells : 0);
  const least = leastRows(prompt, width) + (framed ? FRAME.rows : 0);
  // One row stays free: what fills the window is drawn anew as a whole each time.
  const left = new Rows(room.rows - 1 - room.taken - least);
  const several = prompt.asked.length > 1;
  const hint = saysSomething(prompt) && left.has();
  const title = several || left.has();
  const task = taskRows(prompt, room.columns - 2, left);
  const detail = detailRows(prompt, left);
  const keys = 1 + left.take(hintLines(promptHints(prompt), room.columns - 2).length - 1);
  const refusal = refusalRows(prompt, width, left);
  const banner = isDangerous(prompt) && left.has();
  const listed = listedPlaces(prompt, width, left.take(othersWanted(prompt, room)));
  const [status, because, margin] = [left.has(), left.has(), left.has()];
  if (detail.rows > 0) detail.rows += left.take(room.rows);
  const isLarge = room.columns >= (framed ? FRAME.leastColumns : LEAST.columns) && room.rows >= LEAST.rows;
  return {
    fits: isLarge && left.enough,
    framed,
    width,
    title,
    banner,
    listed,
    because,
    refusal,
    detail,
    hint,
    task,
    keys,
    margin,
    status,
  };
}

/** Rows that are left to be given away. */
class Rows {
  readonly enough: boolean;
  #left: number;

  constructor(count: number) {
    this.enough = count >= 0;
    this.#left = Math.max(0, count);
  }

  /** As many of the wanted as there are. */
  take(wanted: number): number {
    const taken = Math.max(0, Math.min(wanted, this.#left));
    this.#left -= taken;
    return taken;
  }

  /** One, where there is one. */
  has(): boolean {
    return this.take(1) === 1;
  }
}

/** The question, what the person does about it, and a line of keys; of several questions, which one it is. */
function leastRows(prompt: ApprovalPrompt, width: number): number {
  const current = currentOf(prompt);
  const question = current === undefined ? 0 : questionHeight(current.question, width);
  return question + leastTaskRows(prompt.doing, width - 2) + 1 + (prompt.asked.length > 1 ? 1 : 0);
}

function saysSomething({ hint, doing }: ApprovalPrompt): boolean {
  return hint !== undefined || (doing.task === "edit" && doing.problem !== undefined);
}

function detailRows({ view, doing }: ApprovalPrompt, left: Rows): PromptLayout["detail"] {
  const written = doing.task === "edit" ? 1 : 0;
  if (view === "nothing" && doing.task !== "edit" && doing.task !== "help")
    return { heading: false, rows: 0 };
  const rows = written + left.take(2);
  return rows > 1 ? { heading: true, rows: rows - 1 } : { heading: false, rows };
}

function refusalRows(prompt: ApprovalPrompt, width: number, left: Rows): string[] {
  const refusal = currentOf(prompt)?.refusal;
  if (refusal === undefined) return [];
  const rows = wrapCells(`The edit was refused: ${refusal.message}`, width);
  return rows.slice(0, left.take(rows.length));
}

/** All can be approved at once, so the danger may lie in another than the current one. */
function isDangerous({ asked }: ApprovalPrompt): boolean {
  return asked.some(({ question }) => isRisky(question.risk));
}

/** How many questions besides the current one are worth a row. */
function othersWanted({ asked }: ApprovalPrompt, { rows }: Room): number {
  return Math.min(asked.length - 1, Math.max(1, Math.floor(rows / 4) - 1));
}

/** The questions around the current one; the others only where each can be told in one row. */
function listedPlaces({ asked, at }: ApprovalPrompt, width: number, others: number): number[] {
  const size = 1 + others;
  const from = Math.max(0, Math.min(at - Math.floor(size / 2), asked.length - size));
  const around = asked.map((one, place) => ({ one, place })).slice(from, from + size);
  return around
    .filter(({ one, place }) => place === at || isOneRow(one.question, width))
    .map(({ place }) => place);
}

function taskRows({ doing }: ApprovalPrompt, width: number, left: Rows): number {
  const least = leastTaskRows(doing, width);
  if (doing.task !== "scope") return doing.task === "edit" ? 0 : least;
  const whole = 1 + scopeRows(doing.scopes, width).flat().length;
  return least + left.take(whole - least);
}
