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

/** What arrives in one piece may be several keys: text with Enter at its end is both. */
export function pressesOf(input: string, key: Key): Press[] {
  const press = pressOf(input, key);
  const ending = /^(.+)\r$/s.exec(press.text);
  if (press.key !== "text" || ending?.[1] === undefined) return [press];
  return [
    { ...press, text: ending[1] },
    { key: "enter", text: "", ctrl: false, alt: false },
  ];
}

/** The one character that was typed without Ctrl or Alt; empty for anything else. */
export function letterOf({ key, text, ctrl, alt }: Press): string {
  return key === "text" && !ctrl && !alt && [...text].length === 1 ? text : "";
}

/** True for a letter together with Ctrl. */
export function isCtrl({ key, text, ctrl }: Press, letter: string): boolean {
  return key === "text" && ctrl && text === letter;
}
