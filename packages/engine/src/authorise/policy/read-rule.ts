import type { JsonObject, JsonValue } from "@sallyport/protocol";
import { pointTo } from "../../match/json-pointer.ts";
import type { Reading } from "../../match/reading.ts";
import type { Condition } from "./condition.ts";
import { checkExamples, type ExampleCount } from "./examples.ts";
import { readMatch } from "./read-match.ts";
import { EFFECTS, type Effect, type Rule } from "./rule.ts";

const KEYS = ["id", "effect", "reason", "match", "unless", "unlock", "nearest", "preview", "examples"];
const ID = /^[A-Za-z0-9][\w.:-]{0,127}$/;

export interface ReadRule {
  rule: Rule;
  examples: ExampleCount;
}

interface RulePlace {
  path: string;
  reading: Reading;
  /** Rules that Sallyport writes itself come without. */
  examples: "required" | "none";
}

/** Reads one rule and tries its examples on it. Undefined when anything about it is wrong, which is noted. */
export function readRule(value: unknown, { path, reading, examples }: RulePlace): ReadRule | undefined {
  const before = reading.issues.length;
  const given = reading.object(value, path, KEYS);
  if (!given) return undefined;
  const rule = compileRule(given, path, reading);
  if (!rule || reading.issues.length > before) return undefined;
  if (examples === "none") return { rule, examples: { match: 0, not: 0 } };
  const count = checkExamples(given.examples, { rule, path: pointTo(path, "examples"), reading });
  return { rule, examples: count };
}

function compileRule(given: JsonObject, path: string, reading: Reading): Rule | undefined {
  const id = readId(given.id, pointTo(path, "id"), reading);
  const effect = reading.word(given.effect, pointTo(path, "effect"), EFFECTS);
  const conditions = readConditions("match", given.match ?? null, { path, reading });
  const exceptions =
    given.unless === undefined ? [] : readConditions("unless", given.unless, { path, reading });
  const texts = readTexts(given, path, reading);
  if (id === undefined || effect === undefined) return undefined;
  const reason = texts.reason ?? defaultReason(id, effect, { path, reading });
  const preview = readPreview(given, { effect, path, reading });
  return {
    id,
    effect,
    ...texts,
    ...preview,
    reason,
    conditions,
    exceptions,
    ...factsOf([...conditions, ...exceptions]),
  };
}

function readId(value: unknown, path: string, reading: Reading): string | undefined {
  if (typeof value === "string" && ID.test(value)) return value;
  return reading.wrong(path, "must be a name", "letters, digits, dots and dashes, at most 128");
}

/** A refusal has to say why; a permission need not. */
function defaultReason(
  id: string,
  effect: Effect,
  { path, reading }: { path: string; reading: Reading },
): string {
  if (effect !== "allow") reading.wrong(path, `rule "${id}" must give a reason`, 'add "reason"');
  return `rule ${id} allows it`;
}

/** Only a question can show what a call would change. */
function readPreview(
  given: JsonObject,
  { effect, path, reading }: { effect: Effect; path: string; reading: Reading },
): { preview?: true } {
  if (given.preview === undefined || given.preview === false) return {};
  if (given.preview === true && effect === "ask") return { preview: true };
  reading.wrong(pointTo(path, "preview"), "must be true, in a rule whose effect is ask", "preview: true");
  return {};
}

function readConditions(
  key: "match" | "unless",
  value: JsonValue,
  { path, reading }: { path: string; reading: Reading },
): Condition[] {
  return readMatch(value, { path: pointTo(path, key), within: `/${key}`, reading });
}

function readTexts(given: JsonObject, path: string, reading: Reading) {
  const texts: { reason?: string; unlock?: string; nearest?: string } = {};
  for (const key of ["reason", "unlock", "nearest"] as const) {
    const text = given[key] === undefined ? undefined : reading.text(given[key], pointTo(path, key));
    if (text !== undefined) texts[key] = text;
  }
  return texts;
}

function factsOf(conditions: readonly Condition[]): Pick<Rule, "argument" | "code" | "timed"> {
  const argument = conditions.find((condition) => condition.argument !== undefined)?.argument;
  const code = conditions.find((condition) => condition.code !== undefined)?.code;
  return {
    ...(argument !== undefined && { argument }),
    ...(code !== undefined && { code }),
    timed: conditions.some(({ timed }) => timed === true),
  };
}
