/**
 * Where a reader of terminal output stands.
 *
 *   text ─ESC→ escape ─[→ csi ─final→ text              CSI: ESC [ or U+009B
 *                ├─]→ osc ─BEL, ST, line break→ text     OSC: ESC ] or U+009D
 *                ├─P X ^ _→ string ─ST→ text             DCS, SOS, PM, APC, and their 8-bit forms
 *                ├─space to /→ intermediate ─final→ text
 *                └─other→ text
 *
 * CAN and SUB end anything, ESC begins anew anywhere. Controls inside an unfinished escape or CSI act as they do on a
 * terminal, and the sequence goes on. An OSC ends at a line break, since none has one.
 */
export type TerminalState = "text" | "escape" | "intermediate" | "csi" | "osc" | "string";

/** What of a character is shown: itself, a line break in its place, or nothing. */
export type Shown = "itself" | "newline" | "nothing";

/** The longest sequence that is removed whole: strings carry pictures and clipboards, the others a few numbers. */
export const BOUNDS: Readonly<Record<TerminalState, number>> = {
  text: Number.POSITIVE_INFINITY,
  escape: 64,
  intermediate: 64,
  csi: 256,
  osc: 64 * 1024,
  string: 1024 * 1024,
};

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
const ESC = 0x1b;
const DEL = 0x7f;

const AFTER_ESCAPE: ReadonlyMap<number, TerminalState> = new Map([
  [0x5b, "csi"],
  [0x5d, "osc"],
  [0x50, "string"],
  [0x58, "string"],
  [0x5e, "string"],
  [0x5f, "string"],
]);

/** Each 8-bit control is the same as ESC and the character 0x40 below it. */
const C1_OFFSET = 0x40;

/** One step. Pure, and total over code units. */
export function step(state: TerminalState, code: number): [TerminalState, Shown] {
  if (code === ESC) return ["escape", "nothing"];
  if (code === CAN || code === SUB) return ["text", "nothing"];
  if (code >= 0x80 && code <= 0x9f) return [AFTER_ESCAPE.get(code - C1_OFFSET) ?? "text", "nothing"];
  if (state === "osc") return inOsc(code);
  if (state === "string") return ["string", "nothing"];
  if (code < 0x20 || code === DEL) return [state, control(code)];
  switch (state) {
    case "escape":
      if (isBetween(code, 0x20, 0x2f)) return ["intermediate", "nothing"];
      return isBetween(code, 0x30, 0x7e) ? [AFTER_ESCAPE.get(code) ?? "text", "nothing"] : asText(code);
    case "intermediate":
      return sequence("intermediate", code, isBetween(code, 0x20, 0x2f));
    case "csi":
      return sequence("csi", code, isBetween(code, 0x20, 0x3f));
    case "text":
      return asText(code);
  }
}

function inOsc(code: number): [TerminalState, Shown] {
  if (code === LF || code === CR) return ["text", "newline"];
  return [code === BEL ? "text" : "osc", "nothing"];
}

function sequence(state: TerminalState, code: number, goesOn: boolean): [TerminalState, Shown] {
  if (goesOn) return [state, "nothing"];
  return code < DEL ? ["text", "nothing"] : asText(code);
}

function asText(code: number): [TerminalState, Shown] {
  return ["text", isUnseen(code) ? "nothing" : "itself"];
}

function control(code: number): Shown {
  if (code === LF || code === CR) return "newline";
  return code === TAB ? "itself" : "nothing";
}

/** Bidi controls, zero-width characters, invisible operators, byte order marks, annotation marks. */
function isUnseen(code: number): boolean {
  if (code < 0x61c) return false;
  if (code === 0x61c || code === 0x180e || code === 0xfeff) return true;
  return (
    isBetween(code, 0x200b, 0x200f) ||
    isBetween(code, 0x202a, 0x202e) ||
    isBetween(code, 0x2060, 0x206f) ||
    isBetween(code, 0xfff9, 0xfffb)
  );
}

function isBetween(code: number, first: number, last: number): boolean {
  return code >= first && code <= last;
}
