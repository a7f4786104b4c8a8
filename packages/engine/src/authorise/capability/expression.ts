import { ExpressionError, type Token, tokensOf } from "./expression-tokens.ts";

// or      = and { "||" and }
// and     = not { "&&" not }
// not     = "!" not | compare
// compare = operand [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "matches" ) operand ]
// operand = number | string | "true" | "false" | list | variable | "(" or ")"
// list    = "[" [ operand { "," operand } ] "]"

export const COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "in", "matches"] as const;
export type Comparison = (typeof COMPARISONS)[number];

export type Expression =
  | { kind: "literal"; value: number | string | boolean }
  | { kind: "variable"; name: string }
  | { kind: "list"; items: Expression[] }
  | { kind: "not"; operand: Expression }
  | { kind: "and" | "or"; parts: Expression[] }
  | { kind: "compare"; operator: Comparison; left: Expression; right: Expression };

export type ParsedExpression =
  | { ok: true; expression: Expression }
  /** Position in characters from 0. */
  | { ok: false; position: number; reason: string };

/** The longest expression. */
export const MAX_EXPRESSION_CHARS = 1_000;
/** How deep brackets, lists and negations may be nested. */
export const MAX_EXPRESSION_DEPTH = 32;

/** Reads a condition's expression. Never throws; what is not one is answered with the place where it stops being one. */
export function parseExpression(text: string): ParsedExpression {
  if (text.length > MAX_EXPRESSION_CHARS) {
    return {
      ok: false,
      position: MAX_EXPRESSION_CHARS,
      reason: `longer than ${MAX_EXPRESSION_CHARS} characters`,
    };
  }
  try {
    return { ok: true, expression: new Parser(tokensOf(text)).whole() };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { ok: false, position: error.position, reason: error.message };
  }
}

/** Every variable an expression names. */
export function variablesOf(expression: Expression): string[] {
  switch (expression.kind) {
    case "literal":
      return [];
    case "variable":
      return [expression.name];
    case "list":
      return expression.items.flatMap(variablesOf);
    case "not":
      return variablesOf(expression.operand);
    case "compare":
      return [...variablesOf(expression.left), ...variablesOf(expression.right)];
    default:
      return expression.parts.flatMap(variablesOf);
  }
}

class Parser {
  readonly #tokens: Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expression {
    const expression = this.#or();
    if (this.#next.kind !== "end") throw this.#unexpected("the end");
    return expression;
  }

  #or(): Expression {
    return this.#chain("||", () => this.#chain("&&", () => this.#not()));
  }

  #chain(symbol: "&&" | "||", part: () => Expression): Expression {
    const first = part();
    if (!this.#is(symbol)) return first;
    const parts = [first];
    while (this.#take(symbol)) parts.push(part());
    return { kind: symbol === "&&" ? "and" : "or", parts };
  }

  #not(): Expression {
    if (!this.#take("!")) return this.#compare();
    return { kind: "not", operand: this.#deeper(() => this.#not()) };
  }

  #compare(): Expression {
    const left = this.#operand();
    const operator = COMPARISONS.find((known) => this.#is(known));
    if (operator === undefined) return left;
    this.#at += 1;
    return { kind: "compare", operator, left, right: this.#operand() };
  }

  #operand(): Expression {
    const token = this.#next;
    if (this.#take("(")) return this.#deeper(() => this.#bracketed());
    if (this.#take("[")) return this.#deeper(() => this.#list());
    const operand = operandOf(token);
    if (!operand) throw this.#unexpected("a value");
    this.#at += 1;
    return operand;
  }

  #bracketed(): Expression {
    const inner = this.#or();
    if (!this.#take(")")) throw this.#unexpected('")"');
    return inner;
  }

  #list(): Expression {
    const items: Expression[] = [];
    if (this.#take("]")) return { kind: "list", items };
    do items.push(this.#operand());
    while (this.#take(","));
    if (!this.#take("]")) throw this.#unexpected('"," or "]"');
    return { kind: "list", items };
  }

  #deeper(parse: () => Expression): Expression {
    this.#depth += 1;
    if (this.#depth > MAX_EXPRESSION_DEPTH)
      throw new ExpressionError(this.#next.position, "nested too deeply");
    const parsed = parse();
    this.#depth -= 1;
    return parsed;
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "", position: 0 };
  }

  /** A symbol or a word of the language; never a string that happens to say the same. */
  #is(written: string): boolean {
    const { kind, text } = this.#next;
    return text === written && (kind === "symbol" || kind === "name");
  }

  #take(written: string): boolean {
    const found = this.#is(written);
    if (found) this.#at += 1;
    return found;
  }

  #unexpected(wanted: string): ExpressionError {
    const { kind, text, position } = this.#next;
    const found = kind === "end" ? "the end" : JSON.stringify(text);
    return new ExpressionError(position, `${found} where ${wanted} is expected`);
  }
}

function operandOf({ kind, text }: Token): Expression | undefined {
  if (kind === "number") return { kind: "literal", value: Number(text) };
  if (kind === "string") return { kind: "literal", value: text };
  if (kind !== "name" || text === "in" || text === "matches") return undefined;
  if (text === "true" || text === "false") return { kind: "literal", value: text === "true" };
  return { kind: "variable", name: text };
}
