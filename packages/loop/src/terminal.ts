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
type TerminalState = "text" | "escape" | "intermediate" | "csi" | "osc" | "string";

/** What of a character is shown: itself, a line break in its place, or nothing. */
type Shown = "itself" | "newline" | "nothing";

/** The longest sequence that is removed whole: strings carry pictures and clipboards, the others a few numbers. */
const BOUNDS: Readonly<Record<TerminalState, number>> = {
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

/** Whatever needs a second look; most output has nothing of it. Every character that `step` does not show is in it. */
const SUSPECT =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\udb40]/;

/** The first half of U+E0000 to U+E03FF: tags and selectors, which nobody sees. */
const UNSEEN_PLANE = 0xdb40;
/** For such a half by itself: when what lies between them goes, two halves must not become a whole. */
const REPLACEMENT = "\ufffd";

/**
 * Takes out of a text everything by which it could act on a terminal or deceive the eye (FR-OUT-02), and keeps the
 * rest. For showing only: what a model is to patch later must reach it unchanged.
 *
 * CR LF and a lone CR become LF, so that nothing is overprinted. Bidi controls and zero-width characters go, joiners
 * included: an emoji made of several falls into its parts, which is better than text that is not what it looks like.
 */
export function sanitizeTerminal(text: string): string {
  const sanitizer = new TerminalSanitizer();
  return sanitizer.write(text) + sanitizer.end();
}

/** What becomes of CR: a line break like any other, or itself, for one who shows a rewritten line as one line. */
type Returns = "break" | "keep";

/**
 * The same for a text that comes in pieces, cut anywhere. It keeps no more of it than half a character. Nothing is
 * swallowed for ever: a sequence that has not ended within its bound is taken to be none, and what follows is shown.
 *
 * With `returns: "keep"` every CR stays, that of CR LF too, and whoever reads the text has to take them out.
 */
export class TerminalSanitizer {
  readonly #returns: Returns;
  #state: TerminalState = "text";
  /** Characters of the sequence so far. */
  #length = 0;
  #afterReturn = false;
  /** The first half of a character that may have to go. */
  #half = "";

  constructor({ returns = "break" }: { returns?: Returns } = {}) {
    this.#returns = returns;
  }

  /** What of the piece may be shown. */
  write(chunk: string): string {
    const text = this.#half + chunk;
    this.#half = "";
    const suspects = new RegExp(SUSPECT, "g");
    let shown = "";
    let at = 0;
    while (at < text.length) {
      const plain = this.#plainUntil(text, at, suspects);
      shown += text.slice(at, plain);
      at = plain;
      if (at >= text.length) break;
      const units = unseenPair(text, at);
      if (units === "cut") this.#half = text.slice(at);
      else if (units === 1) shown += this.#take(text, at);
      at += units === "cut" ? 1 : units;
    }
    return shown;
  }

  /** The text is over; a sequence that has not ended shows nothing. */
  end(): string {
    const rest = this.#half === "" ? "" : this.#take(this.#half, 0);
    this.#state = "text";
    this.#half = "";
    this.#afterReturn = false;
    return rest;
  }

  #plainUntil(text: string, at: number, suspects: RegExp): number {
    if (this.#state !== "text" || this.#afterReturn) return at;
    suspects.lastIndex = at;
    return suspects.exec(text)?.index ?? text.length;
  }

  #take(text: string, at: number): string {
    const code = text.charCodeAt(at);
    if (this.#length >= BOUNDS[this.#state]) this.#state = "text";
    const before = this.#state;
    const [state, shown] = step(before, code);
    this.#state = state;
    this.#length = state === before ? this.#length + 1 : 0;
    if (shown === "newline") return this.#lineBreak(code);
    // What nobody sees does not come between the CR and the LF of one line break.
    if (shown === "nothing") return "";
    this.#afterReturn = false;
    return code === UNSEEN_PLANE ? REPLACEMENT : text.charAt(at);
  }

  #lineBreak(code: number): string {
    if (this.#returns === "keep") return code === CR ? "\r" : "\n";
    const isSecondOfTwo = this.#afterReturn && code === LF;
    this.#afterReturn = code === CR;
    return isSecondOfTwo ? "" : "\n";
  }
}

/** 2 for a whole character of the unseen plane, which goes; `cut` when its second half may be yet to come. */
function unseenPair(text: string, at: number): 1 | 2 | "cut" {
  if (text.charCodeAt(at) !== UNSEEN_PLANE) return 1;
  if (at === text.length - 1) return "cut";
  const second = text.charCodeAt(at + 1);
  return second >= 0xdc00 && second <= 0xdfff ? 2 : 1;
}
