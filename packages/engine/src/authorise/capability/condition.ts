import type { JsonValue } from "@sallyport/protocol";
import type { GrantCondition } from "../../ports/grants.ts";
import { type Evaluated, evaluateExpression, type Value } from "./evaluate-expression.ts";
import { type Expression, parseExpression, variablesOf } from "./expression.ts";

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

export const CONDITION_TYPES = ["TIME", "LOCATION", "CONTEXT"] as const;
type ConditionType = (typeof CONDITION_TYPES)[number];

const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

const TIME: Record<string, (date: Date) => Value> = {
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
  const fail = (problem: string): Condition => ({
    type,
    expression,
    problem,
    evaluate: () => ({ ok: false, reason: problem }),
  });
  if (!isConditionType(type)) return fail(`the condition type ${JSON.stringify(type)} is not known`);
  if (typeof expression !== "string") return fail("the expression is not a text");
  const parsed = parseExpression(expression);
  if (!parsed.ok) return fail(`at character ${parsed.position + 1}: ${parsed.reason}`);
  const stranger = variablesOf(parsed.expression).find((name) => !mayName(type, name));
  if (stranger !== undefined) return fail(`${stranger} is not known to a ${type} condition`);
  return { type, expression, evaluate: (facts) => evaluate(type, parsed.expression, facts) };
}

function evaluate(type: ConditionType, expression: Expression, facts: ConditionFacts): Evaluated {
  if (type === "TIME") {
    const date = new Date(facts.at);
    return evaluateExpression(expression, (name) => own(TIME, name)?.(date));
  }
  const known = type === "CONTEXT" ? facts.context : facts.location;
  return evaluateExpression(expression, (name) => valueFrom(own(known, afterDot(name))));
}

function mayName(type: ConditionType, name: string): boolean {
  if (type === "TIME") return own(TIME, name) !== undefined;
  return name.startsWith(`${type.toLowerCase()}.`) && !afterDot(name).includes(".");
}

function afterDot(name: string): string {
  return name.slice(name.indexOf(".") + 1);
}

/** Numbers, texts, yes or no, and lists of them; anything else is not known to an expression. */
function valueFrom(given: JsonValue | undefined): Value | undefined {
  if (typeof given === "number" || typeof given === "string" || typeof given === "boolean") return given;
  if (!Array.isArray(given)) return undefined;
  const items = given.map(valueFrom);
  return items.some((item) => item === undefined) ? undefined : items.filter((item) => item !== undefined);
}

function own<Held>(holder: Readonly<Record<string, Held>>, name: string): Held | undefined {
  return Object.hasOwn(holder, name) ? holder[name] : undefined;
}

function isConditionType(type: string): type is ConditionType {
  return CONDITION_TYPES.some((known) => known === type);
}
