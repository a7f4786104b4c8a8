export type TokenKind = "number" | "string" | "name" | "symbol" | "end";

export interface Token {
  kind: TokenKind;
  /** As it was written; for a string the text it stands for. */
  text: string;
  /** Counted in characters from 0. */
  position: number;
}

/** Where a text stops being an expression, and why. */
export class ExpressionError extends Error {
  readonly position: number;

  constructor(position: number, reason: string) {
    super(reason);
    this.name = "ExpressionError";
    this.position = position;
  }
}

const SPACE = /[ \t\r\n]*/y;
const PIECES: readonly [TokenKind, RegExp][] = [
  ["number", /-?\d+(?:\.\d+)?/y],
  ["string", /"(?:[^"\\]|\\.)*"/y],
  ["name", /[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*/y],
  ["symbol", /&&|\|\||==|!=|<=|>=|[<>!()[\],]/y],
];

/** Cuts a text into tokens, the last of them `end`. Throws an ExpressionError; linear in the text. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let position = skipSpace(text, 0);
  while (position < text.length) {
    const [kind, written] = pieceAt(text, position);
    tokens.push({ kind, text: kind === "string" ? readString(written, position) : written, position });
    position = skipSpace(text, position + written.length);
  }
  return [...tokens, { kind: "end", text: "", position: text.length }];
}

function pieceAt(text: string, position: number): [TokenKind, string] {
  for (const [kind, pattern] of PIECES) {
    pattern.lastIndex = position;
    const written = pattern.exec(text)?.[0];
    if (written !== undefined) return [kind, written];
  }
  if (text[position] === '"') throw new ExpressionError(position, "a string without an end");
  throw new ExpressionError(position, `unexpected ${JSON.stringify(text[position])}`);
}

function skipSpace(text: string, position: number): number {
  SPACE.lastIndex = position;
  return position + (SPACE.exec(text)?.[0].length ?? 0);
}

function readString(written: string, position: number): string {
  try {
    return String(JSON.parse(written));
  } catch {
    throw new ExpressionError(position, "a string with an escape that JSON does not know");
  }
}
