import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";

type Begun = Extract<LanguageModelV4StreamPart, { type: "tool-input-start" }>;

/** A piece of a call as Chat Completions send it. */
interface Piece {
  index: unknown;
  /** Empty where none was sent. */
  id: string;
  name: string;
}

/**
 * The ids that calls have on the wire. A library that is sent one id for two calls makes up another for the second, and
 * whoever has to refuse the second would never know of it (FR-VAL-02a). Only the form of Chat Completions is known here:
 * elsewhere ids come as they were sent.
 */
export class WireIds {
  readonly #ids = new Set<string>();
  readonly #indexes = new Set<unknown>();
  readonly #ofInvented = new Map<string, string>();
  #pieces: Piece[] = [];

  /** A chunk as it came; the parts that follow until the next one were made of it. */
  note(chunk: unknown): void {
    this.#takeTo(this.#pieces.length);
    this.#pieces = piecesIn(chunk);
  }

  /** A call begins. */
  begin({ id, toolName }: Begun): void {
    const own = this.#pieces.findIndex((piece) => piece.id === id);
    const place = own >= 0 ? own : this.#invented(toolName);
    const piece = this.#pieces[place];
    if (piece && piece.id !== id && piece.id !== "") this.#ofInvented.set(id, piece.id);
    this.#takeTo(place + 1);
  }

  /** The id on the wire where the call was given another one. */
  of(id: string): string | undefined {
    return this.#ofInvented.get(id);
  }

  /** The piece that an id was made up for. One of an index that is known most likely goes on with its call. */
  #invented(name: string): number {
    const isOne = (piece: Piece) => piece.name === name && (piece.id === "" || this.#ids.has(piece.id));
    const fresh = this.#pieces.findIndex((piece) => isOne(piece) && !this.#indexes.has(piece.index));
    return fresh >= 0 ? fresh : this.#pieces.findIndex(isOne);
  }

  #takeTo(end: number): void {
    for (const { id, index } of this.#pieces.splice(0, end)) {
      this.#ids.add(id);
      if (typeof index === "number") this.#indexes.add(index);
    }
  }
}

function piecesIn(chunk: unknown): Piece[] {
  const choices = listAt(chunk, "choices");
  return listAt(valueAt(choices[0], "delta"), "tool_calls").flatMap((piece) => {
    const [id, name] = [valueAt(piece, "id"), valueAt(valueAt(piece, "function"), "name")];
    if (typeof name !== "string") return [];
    return [
      { index: valueAt(piece, "index"), id: typeof id === "string" && id.trim() !== "" ? id : "", name },
    ];
  });
}

function listAt(value: unknown, key: string): unknown[] {
  const found = valueAt(value, key);
  return Array.isArray(found) ? found : [];
}

function valueAt(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}
