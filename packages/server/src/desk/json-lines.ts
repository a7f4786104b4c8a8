import { StringDecoder } from "node:string_decoder";
import { isJsonObject, type JsonObject, parseJson } from "@sallyport/protocol";

export interface LineBounds {
  maxChars: number;
  onWords(words: JsonObject): void;
  /** A line was no JSON object, or more than than a line may have has come without an end. Nothing after it is read. */
  onNonsense(): void;
}

/** Reads what arrives as lines of JSON. */
export class JsonLines {
  readonly #bounds: LineBounds;
  readonly #decoder = new StringDecoder("utf8");
  #parts: string[] = [];
  #chars = 0;
  #isOver = false;

  constructor(bounds: LineBounds) {
    this.#bounds = bounds;
  }

  take(chunk: Buffer): void {
    if (this.#isOver) return;
    const [first = "", ...rest] = this.#decoder.write(chunk).split("\n");
    this.#add(first);
    for (const next of rest) {
      if (this.#isOver) return;
      const line = this.#parts.join("");
      this.#parts = [];
      this.#chars = 0;
      this.#read(line);
      this.#add(next);
    }
  }

  #add(part: string): void {
    this.#parts.push(part);
    this.#chars += part.length;
    if (this.#chars > this.#bounds.maxChars) this.#giveUp();
  }

  #read(line: string): void {
    const words = parseJson(line);
    if (isJsonObject(words)) this.#bounds.onWords(words);
    else this.#giveUp();
  }

  #giveUp(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#parts = [];
    this.#bounds.onNonsense();
  }
}
