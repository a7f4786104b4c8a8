import { matchesAny } from "../../match/patterns.ts";
import type { Comparison, Expression } from "./expression.ts";

/** What an expression can be about. */
export type Value = number | string | boolean | readonly Value[];

/** What a name stands for; undefined when it stands for nothing. */
export type Variables = (name: string) => Value | undefined;

/** An expression either says yes or no, or it cannot be told. */
export type Evaluated = { ok: true; holds: boolean } | { ok: false; reason: string };

class NotEvaluable extends Error {}

/**
 * Works an expression out. Every part is looked at, also where the answer is known before: an unknown name or a
 * comparison of unlike things anywhere makes the whole of it impossible to tell. Never throws.
 */
export function evaluateExpression(expression: Expression, variables: Variables): Evaluated {
  try {
    return { ok: true, holds: truth(expression, variables) };
  } catch (error) {
    if (!(error instanceof NotEvaluable)) throw error;
    return { ok: false, reason: error.message };
  }
}

function truth(expression: Expression, variables: Variables): boolean {
  const value = workOut(expression, variables);
  if (typeof value !== "boolean") throw new NotEvaluable(`a ${kindOf(value)} is neither true nor false`);
  return value;
}

function workOut(expression: Expression, variables: Variables): Value {
  switch (expression.kind) {
    case "literal":
      return expression.value;
    case "variable":
      return named(expression.name, variables);
    case "list":
      return expression.items.map((item) => workOut(item, variables));
    case "not":
      return !truth(expression.operand, variables);
    case "and":
      return expression.parts.map((part) => truth(part, variables)).every(Boolean);
    case "or":
      return expression.parts.map((part) => truth(part, variables)).some(Boolean);
    case "compare":
      return compare(expression.operator, [
        workOut(expression.left, variables),
        workOut(expression.right, variables),
      ]);
  }
}

function named(name: string, variables: Variables): Value {
  const value = variables(name);
  if (value === undefined) throw new NotEvaluable(`${name} is not known`);
  return value;
}

function compare(operator: Comparison, [left, right]: [Value, Value]): boolean {
  switch (operator) {
    case "==":
      return equal(left, right);
    case "!=":
      return !equal(left, right);
    case "in":
      return list(right)
        .map((item) => equal(left, item))
        .some(Boolean);
    case "matches":
      return matchesAny([text(right)], text(left));
    default:
      return ordered(operator, order(left, right));
  }
}

function ordered(operator: "<" | "<=" | ">" | ">=", order: number): boolean {
  if (operator === "<") return order < 0;
  if (operator === "<=") return order <= 0;
  return operator === ">" ? order > 0 : order >= 0;
}

/** Strings by code units, so that dates in ISO form come in their order. */
function order(left: Value, right: Value): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : Number(left > right);
  throw new NotEvaluable(`a ${kindOf(left)} and a ${kindOf(right)} have no order`);
}

function equal(left: Value, right: Value): boolean {
  if (kindOf(left) !== kindOf(right))
    throw new NotEvaluable(`a ${kindOf(left)} is compared with a ${kindOf(right)}`);
  if (!isList(left) || !isList(right)) return left === right;
  return left.length === right.length && left.every((item, index) => equal(item, right[index] ?? []));
}

function list(value: Value): readonly Value[] {
  if (isList(value)) return value;
  throw new NotEvaluable(`"in" needs a list, not a ${kindOf(value)}`);
}

function text(value: Value): string {
  if (typeof value === "string") return value;
  throw new NotEvaluable(`"matches" compares strings, not a ${kindOf(value)}`);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function kindOf(value: Value): string {
  return isList(value) ? "list" : typeof value;
}
