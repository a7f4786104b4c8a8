/** Text without CR. `restarts`: it begins with what replaces the line that was not complete before. */
export interface Rewritten {
  text: string;
  restarts: boolean;
}

/**
 * Reads a stream that comes in pieces, whose lines may be rewritten by CR, as progress bars are. Of each line the last
 * state stays. A CR acts only when something visible follows: until then the line is shown as it was, and before LF it
 * is part of the line break, wherever the two are cut.
 */
export class RewrittenLines {
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
