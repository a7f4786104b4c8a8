import type { Key } from "ink";

const NAMED = [
  "upArrow",
  "downArrow",
  "leftArrow",
  "rightArrow",
  "pageUp",
  "pageDown",
  "home",
  "end",
  "escape",
  "tab",
  "backspace",
  "delete",
] as const;

/** A key with a name, or text that was typed. */
export interface Press {
  key: (typeof NAMED)[number] | "enter" | "newline" | "text";
  /** Of `text`: what was typed; with ctrl or alt the letter. */
  text: string;
  ctrl: boolean;
  alt: boolean;
}

/** What the person pressed, from what the terminal sent. */
export function pressOf(input: string, key: Key): Press {
  const modifiers = { ctrl: key.ctrl, alt: key.meta };
  if (key.return)
    return { key: key.meta || key.shift ? "newline" : "enter", text: "", ctrl: false, alt: false };
  const named = NAMED.find((name) => key[name]);
  if (named !== undefined) return { key: named, text: "", ...modifiers };
  if (input === "\n" || (key.ctrl && input === "j"))
    return { key: "newline", text: "", ctrl: false, alt: false };
  return { key: "text", text: input, ...modifiers };
}

/**
 * What arrives in one piece may be several keys: Ctrl and a letter between text is a key of its own, and Enter at the end.
 * Line breaks inside stay text, as they are in what is pasted without a mark.
 */
export function pressesOf(input: string, key: Key): Press[] {
  const press = pressOf(input, key);
  if (press.key !== "text" || press.ctrl || press.alt) return [press];
  const [, typed = "", enter] = /^(.+?)(\r?)$/s.exec(press.text) ?? [];
  const presses = typed.split(CONTROLS).filter((part) => part !== "");
  return [...presses.map((part) => keyOf(part)), ...(enter ? [keyOf(enter)] : [])];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are keys of their own.
const CONTROLS = /([\x01-\x08\x0b\x0c\x0e-\x1a])/;

/** The one character that was typed without Ctrl or Alt; empty for anything else. */
export function letterOf({ key, text, ctrl, alt }: Press): string {
  return key === "text" && !ctrl && !alt && [...text].length === 1 ? text : "";
}

/** True for a letter together with Ctrl. */
export function isCtrl({ key, text, ctrl }: Press, letter: string): boolean {
  return key === "text" && ctrl && text === letter;
}

/**
 * The first key of what came in one piece, and what is left of it. While the person writes, text stays in one piece up
 * to the next key that is no text.
 */
export function firstKey(press: Press, { writing }: { writing: boolean }): [Press, Press | undefined] {
  if (press.key !== "text" || press.ctrl || press.alt) return [press, undefined];
  const [first = ""] = (writing ? RUN : ONE).exec(press.text) ?? [];
  const rest = press.text.slice(first.length);
  return [keyOf(first), rest === "" ? undefined : { ...press, text: rest }];
}

const ONE = /^./su;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are keys of their own.
const RUN = /^(?:[^\0-\x1f\x7f]+|.)/su;
const CONTROL_KEYS: ReadonlyMap<string, Press["key"]> = new Map([
  ["\r", "enter"],
  ["\n", "newline"],
  ["\t", "tab"],
]);
/** Ctrl and a letter is the letter's code without this. */
const CONTROL_OFFSET = 0x60;

function keyOf(text: string): Press {
  const named = CONTROL_KEYS.get(text);
  if (named !== undefined) return { key: named, text: "", ctrl: false, alt: false };
  const code = text.charCodeAt(0);
  const ctrl = code > 0 && code <= 0x1a;
  return {
    key: "text",
    text: ctrl ? String.fromCharCode(code + CONTROL_OFFSET) : text,
    ctrl,
    alt: false,
  };
}
