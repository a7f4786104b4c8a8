/** Where in a text, both counted from one; a column is a character. */
export interface TextPlace {
  line: number;
  column: number;
}

const SPACE = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none in its texts
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** What may stand next: a value, a value or the end of an empty list, a name, a name or the end of an empty object, or what goes on or ends. */
type Due = "value" | "item-or-end" | "name" | "name-or-end" | "more-or-end";

/**
 * Where a text stops to be JSON: the part that cannot stand there, or the end when something is missing. Undefined for
 * JSON. The parser's own message would say it with a piece of the text, which may be a secret; this one is only asked
 * once a text is known to be wrong.
 */
export function jsonFault(text: string): TextPlace | undefined {
  const at = new Reader(text).read();
  return at === undefined ? undefined : placeOf(text, at);
}

/** Keeps its own list of what is open: the call stack would be the sender's to fill. */
class Reader {
  readonly #text: string;
  readonly #open: ("{" | "[")[] = [];
  #at = 0;
  #due: Due = "value";

  constructor(text: string) {
    this.#text = text;
  }

  /** The index of what is wrong. */
  read(): number | undefined {
    for (;;) {
      this.#skip(SPACE);
      const isOver = this.#due === "more-or-end" && this.#open.length === 0;
      if (isOver) return this.#at === this.#text.length ? undefined : this.#at;
      if (!this.#step()) return this.#at;
    }
  }

  #step(): boolean {
    switch (this.#due) {
      case "value":
        return this.#value();
      case "item-or-end":
        return this.#end("]") || this.#value();
      case "name":
        return this.#name();
      case "name-or-end":
        return this.#end("}") || this.#name();
      case "more-or-end":
        return this.#more();
    }
  }

  #value(): boolean {
    const first = this.#text[this.#at];
    if (first === "{" || first === "[") {
      this.#open.push(first);
      this.#at += 1;
      this.#due = first === "{" ? "name-or-end" : "item-or-end";
      return true;
    }
    this.#due = "more-or-end";
    return first === '"' ? this.#skipText() : this.#skip(SCALAR);
  }

  #name(): boolean {
    if (!this.#skipText()) return false;
    this.#skip(SPACE);
    this.#due = "value";
    return this.#take(":");
  }

  #more(): boolean {
    const isObject = this.#open.at(-1) === "{";
    if (this.#end(isObject ? "}" : "]")) return true;
    this.#due = isObject ? "name" : "value";
    return this.#take(",");
  }

  /** One pattern for all of it would keep a step for each character of a long text. */
  #skipText(): boolean {
    if (!this.#take('"')) return false;
    do this.#skip(PLAIN);
    while (this.#skip(ESCAPE));
    return this.#take('"');
  }

  #end(sign: "]" | "}"): boolean {
    if (!this.#take(sign)) return false;
    this.#open.pop();
    this.#due = "more-or-end";
    return true;
  }

  #take(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  /** Goes past what the pattern finds here; false when it finds nothing. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }
}

function placeOf(text: string, at: number): TextPlace {
  const before = text.slice(0, at);
  const lineAt = before.lastIndexOf("\n") + 1;
  let line = 1;
  for (let next = before.indexOf("\n"); next !== -1; next = before.indexOf("\n", next + 1)) line += 1;
  let column = 1;
  for (const _character of before.slice(lineAt)) column += 1;
  return { line, column };
}
