import { type LoopEvent, TerminalSanitizer } from "@sallyport/loop";
import { cleanDeep, withoutTabs } from "./clean.ts";
import type { ScreenEvent } from "./screen-state.ts";

/** Text without CR. `restarts`: it begins with what replaces the line that was not complete before. */
interface Rewritten {
  text: string;
  restarts: boolean;
}

/**
 * Reads a stream that comes in pieces, whose lines may be rewritten by CR, as progress bars are. Of each line the last
 * state stays. A CR acts only when something visible follows: until then the line is shown as it was, and before LF it
 * is part of the line break, wherever the two are cut.
 */
class RewrittenLines {
  /** The last thing that came was a CR. */
  #returned = false;

  take(chunk: string): Rewritten {
    if (!this.#returned && !chunk.includes("\r")) return { text: chunk, restarts: false };
    const lines = chunk.split("\n").map((line, index) => {
      if (index > 0) this.#returned = false;
      return this.#line(line);
    });
    return { text: lines.map(({ text }) => text).join("\n"), restarts: lines[0]?.restarts ?? false };
  }

  #line(line: string): Rewritten {
    const states = line.split("\r");
    const last = states.findLastIndex((state) => state !== "");
    const restarts = last > 0 || (last === 0 && this.#returned);
    this.#returned = states.length > 1 ? states.at(-1) === "" : this.#returned && line === "";
    return { text: states[last] ?? "", restarts };
  }
}

type Output = Extract<LoopEvent, { kind: "stdout" | "stderr" }>;
type Speech = Extract<LoopEvent, { kind: "text" | "reasoning" }>;

/** The one border where events enter the screen: afterwards no string of them can act on a terminal (NFR-SEC-05). */
export class CleanBorder {
  /** A sequence may be cut between two chunks; the one who reads them has to know what came before. */
  readonly #outputs = new Map<string, { sanitizer: TerminalSanitizer; lines: RewrittenLines }>();
  #speech: { kind: Speech["kind"]; sanitizer: TerminalSanitizer } | undefined;

  clean(event: ScreenEvent): ScreenEvent {
    if (event.kind === "stdout" || event.kind === "stderr") return this.#output(event);
    if (event.kind === "text" || event.kind === "reasoning") return this.#spoken(event);
    this.#speech = undefined;
    if (event.kind === "started") this.#forget(event.index);
    if (event.kind === "ended") this.#outputs.clear();
    return cleanDeep(event);
  }

  #output(event: Output): ScreenEvent {
    const name = `${event.kind} ${event.index}`;
    const stream = this.#outputs.get(name) ?? newStream();
    this.#outputs.set(name, stream);
    const { text, restarts } = stream.lines.take(stream.sanitizer.write(event.chunk));
    return { ...cleanDeep({ ...event, chunk: "" }), chunk: withoutTabs(text), ...(restarts && { restarts }) };
  }

  #spoken(event: Speech): ScreenEvent {
    if (this.#speech?.kind !== event.kind) {
      this.#speech = { kind: event.kind, sanitizer: new TerminalSanitizer() };
    }
    return { kind: event.kind, delta: withoutTabs(this.#speech.sanitizer.write(event.delta)) };
  }

  #forget(index: number): void {
    for (const kind of ["stdout", "stderr"]) this.#outputs.delete(`${kind} ${index}`);
  }
}

function newStream() {
  return { sanitizer: new TerminalSanitizer({ returns: "keep" }), lines: new RewrittenLines() };
}
