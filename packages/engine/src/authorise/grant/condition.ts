import type { JsonValue } from "@sallyport/protocol";
import { matchesAny } from "../../match/patterns.ts";
import type { GrantCondition } from "../../ports/grants.ts";
import { WEEKDAYS } from "../policy/time-window.ts";

/*
 * or      = and { "||" and }
 * and     = not { "&&" not }
 * not     = "!" not | compare
 * compare = operand [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "matches" ) operand ]
 * operand = number | string | "true" | "false" | list | variable | "(" or ")"
 * list    = "[" [ operand { "," operand } ] "]"
 */

/** What conditions can see of a request. */
export interface ConditionFacts {
  at: number;
  /** Read as `context.NAME`. */
  context: Readonly<Record<string, JsonValue | undefined>>;
  /** Read as `location.NAME`. */
  location: Readonly<Record<string, JsonValue | undefined>>;
}

/** A condition that is understood, or why it is not; one that is not never holds. */
export interface Condition {
  readonly type: string;
  readonly expression: string;
  readonly problem?: string;
  evaluate(facts: ConditionFacts): Evaluated;
}

/** Whether an expression holds, or why that cannot be told. */
export type Evaluated = { ok: true; holds: boolean } | { ok: false; reason: string };

export const CONDITION_TYPES = ["TIME", "LOCATION", "CONTEXT"] as const;

const TIME: Readonly<Record<string, (date: Date) => Value>> = {
  hour: (date) => date.getUTCHours(),
  minute: (date) => date.getUTCMinutes(),
  weekday: (date) => WEEKDAYS[date.getUTCDay()] ?? "",
  day: (date) => date.getUTCDate(),
  month: (date) => date.getUTCMonth() + 1,
  year: (date) => date.getUTCFullYear(),
  date: (date) => date.toISOString().slice(0, 10),
  epoch: (date) => date.getTime(),
};

/** Reads a stored or drafted condition. Never throws. */
export function readCondition({ type, expression }: GrantCondition): Condition {
  const evaluate = evaluatorOf(type, expression);
  if (typeof evaluate !== "string") return { type, expression, evaluate };
  return { type, expression, problem: evaluate, evaluate: () => ({ ok: false, reason: evaluate }) };
}

/** What evaluates the condition, or why it is not understood. */
function evaluatorOf(type: string, expression: unknown): Condition["evaluate"] | string {
  const known = CONDITION_TYPES.find((one) => one === type);
  if (!known) return `the condition type ${JSON.stringify(type)} is not known`;
  if (typeof expression !== "string") return "the expression is not a text";
  const compiled = compileExpression(expression);
  if (!compiled.ok) return `at character ${compiled.position + 1}: ${compiled.reason}`;
  const unknown = compiled.names.find((name) => !mayName(known, name));
  if (unknown !== undefined) return `${unknown} is not known to a ${type} condition`;
  return (facts) => compiled.evaluate(variablesOf(known, facts));
}

function mayName(type: (typeof CONDITION_TYPES)[number], name: string): boolean {
  if (type === "TIME") return Object.hasOwn(TIME, name);
  return name.startsWith(`${type.toLowerCase()}.`) && !afterDot(name).includes(".");
}

function variablesOf(type: (typeof CONDITION_TYPES)[number], facts: ConditionFacts): Variables {
  if (type === "TIME") {
    const date = new Date(facts.at);
    return (name) => TIME[name]?.(date);
  }
  const known = type === "CONTEXT" ? facts.context : facts.location;
  return (name) => {
    const field = afterDot(name);
    return Object.hasOwn(known, field) ? valueFrom(known[field]) : undefined;
  };
}

function afterDot(name: string): string {
  return name.slice(name.indexOf(".") + 1);
}

/** Numbers, texts, booleans and lists of them; an expression knows nothing else. */
function valueFrom(given: JsonValue | undefined): Value | undefined {
  if (typeof given === "number" || typeof given === "string" || typeof given === "boolean") return given;
  if (!Array.isArray(given)) return undefined;
  const items = given.map(valueFrom).filter((item) => item !== undefined);
  return items.length === given.length ? items : undefined;
}

export type Value = number | string | boolean | readonly Value[];

/** The value of a name; undefined when it has none. */
export type Variables = (name: string) => Value | undefined;

type Expression = (variables: Variables) => Value;

export type CompiledExpression =
  | { ok: true; names: readonly string[]; evaluate(variables: Variables): Evaluated }
  /** Position in characters from 0. */
  | { ok: false; position: number; reason: string };

export const MAX_EXPRESSION_CHARS = 1_000;
/** How deep brackets, lists and negations may be nested. */
export const MAX_EXPRESSION_DEPTH = 32;

class ExpressionError extends Error {
  readonly position: number;

  constructor(position: number, reason: string) {
    super(reason);
    this.position = position;
  }
}

class EvaluationError extends Error {}

/**
 * Compiles an expression. Never throws; a text that is none is answered with the position where it goes wrong. Evaluating
 * looks at every part, also where the answer is known before: an unknown name or a comparison of unlike values anywhere
 * makes the whole expression impossible to tell.
 */
export function compileExpression(text: string): CompiledExpression {
  try {
    if (text.length > MAX_EXPRESSION_CHARS)
      throw new ExpressionError(MAX_EXPRESSION_CHARS, `longer than ${MAX_EXPRESSION_CHARS} characters`);
    const parser = new Parser(tokensOf(text));
    const expression = parser.whole();
    return { ok: true, names: parser.names, evaluate: (variables) => evaluate(expression, variables) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { ok: false, position: error.position, reason: error.message };
  }
}

function evaluate(expression: Expression, variables: Variables): Evaluated {
  try {
    return { ok: true, holds: truthOf(expression(variables)) };
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return { ok: false, reason: error.message };
  }
}

interface Token {
  kind: "number" | "string" | "name" | "symbol" | "end";
  /** As it was written; for a string the text it stands for. */
  text: string;
  position: number;
}

const PIECES: readonly [Token["kind"] | "space", RegExp][] = [
  ["space", /[ \t\r\n]+/y],
  ["number", /-?\d+(?:\.\d+)?/y],
  ["string", /"(?:[^"\\]|\\.)*"/y],
  ["name", /[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*/y],
  ["symbol", /&&|\|\||==|!=|<=|>=|[<>!()[\],]/y],
];

/** Cuts a text into tokens, the last of them `end`; linear in the text. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let position = 0;
  while (position < text.length) {
    const [kind, written] = pieceAt(text, position);
    if (kind !== "space")
      tokens.push({ kind, text: kind === "string" ? readString(written, position) : written, position });
    position += written.length;
  }
  return [...tokens, { kind: "end", text: "", position }];
}

function pieceAt(text: string, position: number): [Token["kind"] | "space", string] {
  for (const [kind, pattern] of PIECES) {
    pattern.lastIndex = position;
    const written = pattern.exec(text)?.[0];
    if (written !== undefined) return [kind, written];
  }
  if (text[position] === '"') throw new ExpressionError(position, "a string without an end");
  throw new ExpressionError(position, `unexpected ${JSON.stringify(text[position])}`);
}

function readString(written: string, position: number): string {
  try {
    return String(JSON.parse(written));
  } catch {
    throw new ExpressionError(position, "a string with an escape that JSON does not know");
  }
}

/** Recursive descent; every method compiles one rule of the grammar above. */
class Parser {
  /** Every variable that was named. */
  readonly names: string[] = [];
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
    return (variables) => {
      const truths = parts.map((one) => truthOf(one(variables)));
      return symbol === "&&" ? truths.every(Boolean) : truths.some(Boolean);
    };
  }

  #not(): Expression {
    if (!this.#take("!")) return this.#compare();
    const operand = this.#deeper(() => this.#not());
    return (variables) => !truthOf(operand(variables));
  }

  #compare(): Expression {
    const left = this.#operand();
    const operator = [...COMPARISONS.keys()].find((known) => this.#take(known));
    const holds = operator === undefined ? undefined : COMPARISONS.get(operator);
    if (!holds) return left;
    const right = this.#operand();
    return (variables) => holds(left(variables), right(variables));
  }

  #operand(): Expression {
    if (this.#take("("))
      return this.#closed(
        this.#deeper(() => this.#or()),
        ")",
      );
    if (this.#take("[")) return this.#deeper(() => this.#list());
    const { kind, text } = this.#next;
    const isName = kind === "name" && text !== "in" && text !== "matches";
    if (kind !== "number" && kind !== "string" && !isName) throw this.#unexpected("a value");
    this.#at += 1;
    if (kind === "number") return () => Number(text);
    if (kind === "string") return () => text;
    if (text === "true" || text === "false") return () => text === "true";
    this.names.push(text);
    return (variables) => variables(text) ?? impossible(`${text} is not known`);
  }

  #list(): Expression {
    if (this.#take("]")) return () => [];
    const items = [this.#operand()];
    while (this.#take(",")) items.push(this.#operand());
    return this.#closed((variables) => items.map((item) => item(variables)), "]", '"," or "]"');
  }

  #closed(expression: Expression, bracket: string, wanted = `"${bracket}"`): Expression {
    if (!this.#take(bracket)) throw this.#unexpected(wanted);
    return expression;
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

  /** A symbol or a word of the language; never a string that says the same. */
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

const COMPARISONS: ReadonlyMap<string, (left: Value, right: Value) => boolean> = new Map([
  ["==", equal],
  ["!=", (left, right) => !equal(left, right)],
  ["<", (left, right) => order(left, right) < 0],
  ["<=", (left, right) => order(left, right) <= 0],
  [">", (left, right) => order(left, right) > 0],
  [">=", (left, right) => order(left, right) >= 0],
  ["in", isAmong],
  ["matches", matches],
]);

/** Strings by code units, so that dates in ISO form come in their order. */
function order(left: Value, right: Value): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : Number(left > right);
  return impossible(`a ${kindOf(left)} and a ${kindOf(right)} have no order`);
}

function equal(left: Value, right: Value): boolean {
  if (kindOf(left) !== kindOf(right))
    return impossible(`a ${kindOf(left)} is compared with a ${kindOf(right)}`);
  if (!isList(left) || !isList(right)) return left === right;
  return left.length === right.length && left.every((item, index) => equal(item, right[index] ?? []));
}

function isAmong(value: Value, list: Value): boolean {
  if (!isList(list)) return impossible(`"in" needs a list, not a ${kindOf(list)}`);
  return list.map((item) => equal(value, item)).includes(true);
}

function matches(text: Value, pattern: Value): boolean {
  const other = [pattern, text].find((value) => typeof value !== "string");
  if (other !== undefined) return impossible(`"matches" compares strings, not a ${kindOf(other)}`);
  return matchesAny([String(pattern)], String(text));
}

function truthOf(value: Value): boolean {
  return typeof value === "boolean" ? value : impossible(`a ${kindOf(value)} is neither true nor false`);
}

function impossible(reason: string): never {
  throw new EvaluationError(reason);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function kindOf(value: Value): string {
  return isList(value) ? "list" : typeof value;
}
