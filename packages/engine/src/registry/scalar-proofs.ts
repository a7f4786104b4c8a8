import { canonicalJson, type JsonValue } from "@sallyport/protocol";
import type { Proof } from "./keyword-proofs.ts";
import type { BreakingChange } from "./schema-diff.ts";
import type { Facts, JsonType } from "./schema-facts.ts";
import type { Obligation } from "./schema-inclusion.ts";

const NUMBERS: readonly JsonType[] = ["number", "integer"];
const STRINGS: readonly JsonType[] = ["string"];

/** Keywords that need nothing but what is known of the value itself. */
export const SCALAR_PROOFS: Record<string, Proof> = {
  type: { run: proveType },
  enum: { run: (obligation) => proveListed(obligation, [obligation.value].flat()) },
  const: { run: (obligation) => proveListed(obligation, [obligation.value]) },
  minimum: { types: NUMBERS, run: (obligation) => proveBound(obligation, atLeast) },
  exclusiveMinimum: { types: NUMBERS, run: (obligation) => proveBound(obligation, above) },
  maximum: { types: NUMBERS, run: (obligation) => proveBound(obligation, atMost) },
  exclusiveMaximum: { types: NUMBERS, run: (obligation) => proveBound(obligation, below) },
  multipleOf: { types: NUMBERS, run: proveMultiple },
  minLength: { types: STRINGS, run: proveMinimum },
  maxLength: { types: STRINGS, run: proveMaximum },
  pattern: { types: STRINGS, run: proveSame },
  format: { types: STRINGS, run: proveSame },
};

function proveType({ facts, value, fail }: Obligation): BreakingChange[] {
  const allowed = [value].flat();
  const refused = [...facts.types()].filter((type) => !allows(allowed, type));
  if (refused.length === 0) return [];
  return fail(`no longer accepts ${refused.join(", ")}`, `may newly be ${refused.join(", ")}`);
}

function allows(allowed: JsonValue[], type: JsonType): boolean {
  return allowed.includes(type) || (type === "integer" && allowed.includes("number"));
}

function proveListed({ facts, fail }: Obligation, listed: JsonValue[]): BreakingChange[] {
  const values = facts.values();
  if (!values) return fail("newly accepts only listed values", "is no longer limited to the listed values");
  const allowed = new Set(listed.map(canonicalJson));
  const missing = values.filter((value) => !allowed.has(canonicalJson(value)));
  if (missing.length === 0) return [];
  const shown = missing
    .slice(0, 5)
    .map((value) => JSON.stringify(value).slice(0, 60))
    .join(", ");
  return fail(`no longer accepts ${shown}`, `may newly be ${shown}`);
}

type Bound = (facts: Facts, limit: number) => boolean;

const atLeast: Bound = (facts, limit) =>
  facts.numbers("minimum").some((min) => min >= limit) ||
  facts.numbers("exclusiveMinimum").some((min) => min >= limit);
const above: Bound = (facts, limit) =>
  facts.numbers("minimum").some((min) => min > limit) ||
  facts.numbers("exclusiveMinimum").some((min) => min >= limit);
const atMost: Bound = (facts, limit) =>
  facts.numbers("maximum").some((max) => max <= limit) ||
  facts.numbers("exclusiveMaximum").some((max) => max <= limit);
const below: Bound = (facts, limit) =>
  facts.numbers("maximum").some((max) => max < limit) ||
  facts.numbers("exclusiveMaximum").some((max) => max <= limit);

const HOLDS: Record<string, (value: number, limit: number) => boolean> = {
  minimum: (value, limit) => value >= limit,
  exclusiveMinimum: (value, limit) => value > limit,
  maximum: (value, limit) => value <= limit,
  exclusiveMaximum: (value, limit) => value < limit,
};

function proveBound(obligation: Obligation, bound: Bound): BreakingChange[] {
  const { facts, keyword, value, fail } = obligation;
  const limit = Number(value);
  if (bound(facts, limit)) return [];
  const listed = facts.values()?.filter((each) => typeof each === "number");
  if (listed?.every((each) => HOLDS[keyword]?.(each, limit))) return [];
  return fail(`${keyword} ${limit} is stricter than before`, `is no longer limited by ${keyword} ${limit}`);
}

function proveMultiple({ facts, value, fail }: Obligation): BreakingChange[] {
  const factor = Number(value);
  if (factor === 1 && !facts.types().has("number")) return [];
  if (facts.numbers("multipleOf").some((known) => isMultiple(known, factor))) return [];
  return fail(`newly accepts only multiples of ${factor}`, `is no longer always a multiple of ${factor}`);
}

/** Only whole numbers are divided: remainders of fractions are not exact. */
function isMultiple(known: number, factor: number): boolean {
  return (
    known === factor || (Number.isSafeInteger(known) && Number.isSafeInteger(factor) && known % factor === 0)
  );
}

/** For keywords that count something, where the known lower bound is under the same keyword. */
export function proveMinimum({ facts, keyword, value, fail }: Obligation): BreakingChange[] {
  const limit = Number(value);
  if (limit === 0 || facts.numbers(keyword).some((known) => known >= limit)) return [];
  return fail(`${keyword} ${limit} is stricter than before`, `is no longer limited by ${keyword} ${limit}`);
}

export function proveMaximum({ facts, keyword, value, fail }: Obligation): BreakingChange[] {
  const limit = Number(value);
  if (facts.numbers(keyword).some((known) => known <= limit)) return [];
  return fail(`${keyword} ${limit} is stricter than before`, `is no longer limited by ${keyword} ${limit}`);
}

/** Two different patterns or formats cannot be compared. */
function proveSame({ facts, keyword, value, fail }: Obligation): BreakingChange[] {
  if (facts.has(keyword, value)) return [];
  return fail(`demands another ${keyword} than before`, `no longer promises the ${keyword} it had`);
}

/** True when no value can be of both: neither shares a type with the other. */
export function differentTypes(first: Facts, second: Facts): boolean {
  const others = second.types();
  return [...first.types()].every(
    (type) => !others.has(type) && !(isNumeric(type) && [...others].some(isNumeric)),
  );
}

function isNumeric(type: JsonType): boolean {
  return type === "number" || type === "integer";
}

/** True when both list their values and share none. */
export function differentValues(first: Facts, second: Facts): boolean {
  const [ours, theirs] = [first.values(), second.values()];
  if (!ours || !theirs) return false;
  const texts = new Set(theirs.map(canonicalJson));
  return ours.every((value) => !texts.has(canonicalJson(value)));
}
