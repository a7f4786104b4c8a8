import { BOUNDS, step, type TerminalState } from "./terminal-states.ts";

/** Whatever needs a second look; most output has nothing of it. Every character that `step` does not show is in it. */
const SUSPECT =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\udb40]/;

const LF = 0x0a;
const CR = 0x0d;
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
export type Returns = "break" | "keep";

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
