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
export interface Condition extends GrantCondition {
  readonly problem?: string;
  /** Whether it holds, or why that cannot be told. */
  evaluate(facts: ConditionFacts): boolean | string;
}

export type Value = number | string | boolean | readonly Value[];

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

/** The variables of one type of condition. */
interface Names {
  has(name: string): boolean;
  /** Undefined when the request does not say it. */
  valueOf(name: string, facts: ConditionFacts): Value | undefined;
}

const TYPES: ReadonlyMap<string, Names> = new Map([
  [
    "TIME",
    { has: (name) => Object.hasOwn(TIME, name), valueOf: (name, { at }) => TIME[name]?.(new Date(at)) },
  ],
  ["LOCATION", membersOf("location")],
  ["CONTEXT", membersOf("context")],
]);

export const CONDITION_TYPES: readonly string[] = [...TYPES.keys()];

function membersOf(part: "location" | "context"): Names {
  const fieldOf = (name: string) => name.slice(part.length + 1);
  return {
    has: (name) => name.startsWith(`${part}.`) && !fieldOf(name).includes("."),
    valueOf: (name, { [part]: known }) =>
      Object.hasOwn(known, fieldOf(name)) ? valueFrom(known[fieldOf(name)]) : undefined,
  };
}

/** Numbers, texts, booleans and lists of them; an expression knows nothing else. */
function valueFrom(given: JsonValue | undefined): Value | undefined {
  if (typeof given === "number" || typeof given === "string" || typeof given === "boolean") return given;
  if (!Array.isArray(given)) return undefined;
  const items = given.map(valueFrom).filter((item) => item !== undefined);
  return items.length === given.length ? items : undefined;
}

/** Reads a stored or drafted condition. Never throws. */
export function readCondition({ type, expression }: GrantCondition): Condition {
  const evaluate = evaluatorOf(type, expression);
  if (typeof evaluate !== "string") return { type, expression, evaluate };
  return { type, expression, problem: evaluate, evaluate: () => evaluate };
}

/** What evaluates the condition, or why it is not understood. */
function evaluatorOf(type: string, expression: unknown): Condition["evaluate"] | string {
  const names = TYPES.get(type);
  if (!names) return `the condition type ${JSON.stringify(type)} is not known`;
  if (typeof expression !== "string") return "the expression is not a text";
  const compiled = compileExpression(expression);
  if (compiled instanceof ExpressionError)
    return `at character ${compiled.position + 1}: ${compiled.message}`;
  const unknown = compiled.names.find((name) => !names.has(name));
  if (unknown !== undefined) return `${unknown} is not known to a ${type} condition`;
  return (facts) => compiled.evaluate((name) => names.valueOf(name, facts));
}

/** The value of a name; undefined when it has none. */
type Variables = (name: string) => Value | undefined;

type Expression = (variables: Variables) => Value;

interface CompiledExpression {
  /** Every variable that is named. */
  names: readonly string[];
  /** Whether the expression holds, or why that cannot be told. */
  evaluate(variables: Variables): boolean | string;
}

export const MAX_EXPRESSION_CHARS = 1_000;
/** How deep brackets, lists and negations may be nested. */
export const MAX_EXPRESSION_DEPTH = 32;

/** What is wrong with a text that is no expression, or with values that cannot be compared. */
export class ExpressionError extends Error {
  /** In characters from 0. */
  position = 0;
}

function wrong(reason: string, position = 0): never {
  throw Object.assign(new ExpressionError(reason), { position });
}

function attempt<Result>(run: () => Result): Result | ExpressionError {
  try {
    return run();
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
}

/**
 * Compiles an expression. Never throws; a text that is none is answered with the position where it goes wrong. Evaluating
 * looks at every part, also where the answer is known before: an unknown name or a comparison of unlike values anywhere
 * makes the whole expression impossible to tell.
 */
export function compileExpression(text: string): CompiledExpression | ExpressionError {
  return attempt(() => {
    const parser = new Parser(text);
    const expression = parser.whole();
    const evaluate = (variables: Variables) => {
      const holds = attempt(() => truthOf(expression(variables)));
      return holds instanceof ExpressionError ? holds.message : holds;
    };
    return { names: parser.names, evaluate };
  });
}

interface Token {
  kind: "number" | "string" | "word" | "end";
  /** As it was written; for a string the text it stands for. */
  text: string;
  position: number;
}

const SPACE = /[ \t\r\n]+/;
const NUMBER = /(?<number>-?\d+(?:\.\d+)?)/;
const STRING = /(?<string>"(?:[^"\\]|\\.)*")/;
const NAME = /[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*/;
const SYMBOL = /&&|\|\||==|!=|<=|>=|[<>!()[\],]/;
const PIECE = new RegExp([SPACE, NUMBER, STRING, NAME, SYMBOL].map(({ source }) => source).join("|"), "gy");
const IS_NAME = /^[A-Za-z_]/;

/** Cuts a text into tokens; linear in the text. */
function tokensOf(text: string): Token[] {
  if (text.length > MAX_EXPRESSION_CHARS)
    wrong(`longer than ${MAX_EXPRESSION_CHARS} characters`, MAX_EXPRESSION_CHARS);
  const tokens: Token[] = [];
  let end = 0;
  for (const { 0: written, index: position, groups } of text.matchAll(PIECE)) {
    end = position + written.length;
    if (groups?.string !== undefined)
      tokens.push({ kind: "string", text: readString(written, position), position });
    else if (written.trim() !== "")
      tokens.push({ kind: groups?.number === undefined ? "word" : "number", text: written, position });
  }
  if (end === text.length) return tokens;
  return wrong(
    text[end] === '"' ? "a string without an end" : `unexpected ${JSON.stringify(text[end])}`,
    end,
  );
}

function readString(written: string, position: number): string {
  try {
    return String(JSON.parse(written));
  } catch {
    return wrong("a string with an escape that JSON does not know", position);
  }
}

/** Recursive descent; every method compiles one rule of the grammar above. */
class Parser {
  readonly names: string[] = [];
  readonly #tokens: Token[];
  readonly #end: Token;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
    this.#end = { kind: "end", text: "", position: text.length };
  }

  whole(): Expression {
    const expression = this.#or();
    return this.#next.kind === "end" ? expression : this.#missing("the end");
  }

  #or(): Expression {
    return this.#chain("||", () => this.#chain("&&", () => this.#not()));
  }

  #chain(symbol: "&&" | "||", part: () => Expression): Expression {
    const first = part();
    const parts = [first];
    while (this.#take(symbol)) parts.push(part());
    if (parts.length === 1) return first;
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
    const [, holds] = COMPARISONS.find(([operator]) => this.#take(operator)) ?? [];
    if (!holds) return left;
    const right = this.#operand();
    return (variables) => holds(left(variables), right(variables));
  }

  #operand(): Expression {
    if (this.#take("(")) return this.#deeper(() => this.#or(), ")");
    if (this.#take("[")) return this.#deeper(() => this.#list());
    const { kind, text } = this.#next;
    const isName = kind === "word" && IS_NAME.test(text) && text !== "in" && text !== "matches";
    if (kind === "end" || (kind === "word" && !isName)) return this.#missing("a value");
    this.#at += 1;
    if (kind === "number") return () => Number(text);
    if (kind === "string") return () => text;
    if (text === "true" || text === "false") return () => text === "true";
    this.names.push(text);
    return (variables) => variables(text) ?? wrong(`${text} is not known`);
  }

  #list(): Expression {
    const items: Expression[] = [];
    if (this.#take("]")) return () => [];
    do items.push(this.#operand());
    while (this.#take(","));
    if (!this.#take("]")) this.#missing('"," or "]"');
    return (variables) => items.map((item) => item(variables));
  }

  #deeper(parse: () => Expression, bracket?: string): Expression {
    this.#depth += 1;
    if (this.#depth > MAX_EXPRESSION_DEPTH) wrong("nested too deeply", this.#next.position);
    const parsed = parse();
    if (bracket !== undefined && !this.#take(bracket)) this.#missing(`"${bracket}"`);
    this.#depth -= 1;
    return parsed;
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? this.#end;
  }

  /** Takes a symbol or a word of the language; never a string that says the same. */
  #take(written: string): boolean {
    const { kind, text } = this.#next;
    const found = kind === "word" && text === written;
    if (found) this.#at += 1;
    return found;
  }

  #missing(wanted: string): never {
    const { kind, text, position } = this.#next;
    return wrong(
      `${kind === "end" ? "the end" : JSON.stringify(text)} where ${wanted} is expected`,
      position,
    );
  }
}

const COMPARISONS: readonly [string, (left: Value, right: Value) => boolean][] = [
  ["==", equal],
  ["!=", (left, right) => !equal(left, right)],
  ["<", (left, right) => order(left, right) < 0],
  ["<=", (left, right) => order(left, right) <= 0],
  [">", (left, right) => order(left, right) > 0],
  [">=", (left, right) => order(left, right) >= 0],
  ["in", isAmong],
  ["matches", matches],
];

/** Strings by code units, so that dates in ISO form come in their order. */
function order(left: Value, right: Value): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : Number(left > right);
  return wrong(`a ${kindOf(left)} and a ${kindOf(right)} have no order`);
}

function equal(left: Value, right: Value): boolean {
  if (kindOf(left) !== kindOf(right)) wrong(`a ${kindOf(left)} is compared with a ${kindOf(right)}`);
  if (!isList(left) || !isList(right)) return left === right;
  return left.length === right.length && left.every((item, index) => equal(item, right[index] ?? []));
}

function isAmong(value: Value, list: Value): boolean {
  if (!isList(list)) return wrong(`"in" needs a list, not a ${kindOf(list)}`);
  return list.map((item) => equal(value, item)).includes(true);
}

function matches(text: Value, pattern: Value): boolean {
  const other = [pattern, text].find((value) => typeof value !== "string");
  if (other !== undefined) wrong(`"matches" compares strings, not a ${kindOf(other)}`);
  return matchesAny([String(pattern)], String(text));
}

function truthOf(value: Value): boolean {
  return typeof value === "boolean" ? value : wrong(`a ${kindOf(value)} is neither true nor false`);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function kindOf(value: Value): string {
  return isList(value) ? "list" : typeof value;
}
