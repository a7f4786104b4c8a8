import { sanitizeTerminal } from "@sallyport/loop";
import { graphemesOf } from "../state/cell-width.ts";
import { isCtrl, type Press } from "./press.ts";

/** Text that is being written; the cursor stands before the code unit of its number, never inside a character. */
export interface Draft {
  text: string;
  cursor: number;
}

export const EMPTY_DRAFT: Draft = { text: "", cursor: 0 };

export function draftOf(text: string): Draft {
  return { text, cursor: text.length };
}

/** Puts text in at the cursor; nothing of it can act on a terminal. */
export function typed({ text, cursor }: Draft, more: string): Draft {
  const clean = sanitizeTerminal(more.replaceAll(/\r\n?/g, "\n")).replaceAll("\t", "  ");
  return { text: text.slice(0, cursor) + clean + text.slice(cursor), cursor: cursor + clean.length };
}

/** The draft after a key; undefined when the key has no meaning for writing. */
export function edited(draft: Draft, press: Press): Draft | undefined {
  if (press.key === "text")
    return press.ctrl || press.alt ? byControl(draft, press) : typed(draft, press.text);
  if (press.key === "newline") return typed(draft, "\n");
  if (press.key === "backspace") return removed(draft, press.alt ? wordStart(draft) : before(draft));
  if (press.key === "delete") return removed({ ...draft, cursor: after(draft) }, draft.cursor);
  return moved(draft, press);
}

function byControl(draft: Draft, press: Press): Draft | undefined {
  if (isCtrl(press, "a")) return { ...draft, cursor: lineStart(draft) };
  if (isCtrl(press, "e")) return { ...draft, cursor: lineEnd(draft) };
  if (isCtrl(press, "w")) return removed(draft, wordStart(draft));
  if (isCtrl(press, "u")) return removed(draft, lineStart(draft));
  if (isCtrl(press, "k")) return removed({ ...draft, cursor: lineEnd(draft) }, draft.cursor);
  if (press.alt && press.text === "b") return { ...draft, cursor: wordStart(draft) };
  if (press.alt && press.text === "f") return { ...draft, cursor: wordEnd(draft) };
  return undefined;
}

function moved(draft: Draft, { key, ctrl, alt }: Press): Draft | undefined {
  if (key === "leftArrow") return { ...draft, cursor: ctrl || alt ? wordStart(draft) : before(draft) };
  if (key === "rightArrow") return { ...draft, cursor: ctrl || alt ? wordEnd(draft) : after(draft) };
  if (key === "home") return { ...draft, cursor: lineStart(draft) };
  if (key === "end") return { ...draft, cursor: lineEnd(draft) };
  if (key === "upArrow") return overLine(draft, -1);
  return key === "downArrow" ? overLine(draft, 1) : undefined;
}

/** Takes away from `from` to the cursor. */
function removed({ text, cursor }: Draft, from: number): Draft {
  return { text: text.slice(0, from) + text.slice(cursor), cursor: from };
}

function before({ text, cursor }: Draft): number {
  return cursor - (graphemesOf(text.slice(0, cursor)).at(-1)?.length ?? 0);
}

function after({ text, cursor }: Draft): number {
  return cursor + (graphemesOf(text.slice(cursor))[0]?.length ?? 0);
}

function wordStart({ text, cursor }: Draft): number {
  return /\S*\s*$/.exec(text.slice(0, cursor))?.index ?? 0;
}

function wordEnd({ text, cursor }: Draft): number {
  return cursor + (/^\s*\S*/.exec(text.slice(cursor))?.[0].length ?? 0);
}

function lineStart({ text, cursor }: Draft): number {
  // A negative start would be taken as 0 and find a break right behind the cursor.
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
}

function lineEnd({ text, cursor }: Draft): number {
  const at = text.indexOf("\n", cursor);
  return at === -1 ? text.length : at;
}

/** One line up or down, as far in as before; undefined at the first or last line. */
function overLine(draft: Draft, by: -1 | 1): Draft | undefined {
  const start = lineStart(draft);
  const target = by === -1 ? start - 1 : lineEnd(draft) + 1;
  if (target < 0 || target > draft.text.length) return undefined;
  const column = graphemesOf(draft.text.slice(start, draft.cursor)).length;
  const line = { text: draft.text, cursor: target };
  const whole = graphemesOf(draft.text.slice(lineStart(line), lineEnd(line)));
  return { ...draft, cursor: lineStart(line) + whole.slice(0, column).join("").length };
}
