import { isJsonObject, type JsonValue } from "@sallyport/protocol";
import type { Proof } from "./keyword-proofs.ts";
import { sameMeaning } from "./same-meaning.ts";
import { proveMaximum, proveMinimum } from "./scalar-proofs.ts";
import { type Conjunction, conjunctsOf } from "./schema-conjuncts.ts";
import type { BreakingChange } from "./schema-diff.ts";
import { type JsonType, patternsOf } from "./schema-facts.ts";
import type { Obligation } from "./schema-inclusion.ts";

const OBJECTS: readonly JsonType[] = ["object"];
const ARRAYS: readonly JsonType[] = ["array"];
const CANNOT_TELL = "changed in a way that cannot be compared";

/** Keywords about the parts of objects and arrays. */
export const CONTAINER_PROOFS: Record<string, Proof> = {
  properties: { types: OBJECTS, run: proveProperties },
  patternProperties: { types: OBJECTS, run: provePatterns },
  additionalProperties: { types: OBJECTS, run: proveAdditional },
  required: { types: OBJECTS, run: proveRequired },
  minProperties: { types: OBJECTS, run: proveMinProperties },
  maxProperties: { types: OBJECTS, run: proveMaximum },
  propertyNames: { types: OBJECTS, run: provePropertyNames },
  dependentRequired: { types: OBJECTS, run: proveDependentRequired },
  dependentSchemas: { types: OBJECTS, run: cannotTell },
  dependencies: { types: OBJECTS, run: cannotTell },
  unevaluatedProperties: { types: OBJECTS, run: cannotTell },
  prefixItems: { types: ARRAYS, run: provePrefixItems },
  items: { types: ARRAYS, run: proveItems },
  minItems: { types: ARRAYS, run: proveMinimum },
  maxItems: { types: ARRAYS, run: proveMaximum },
  uniqueItems: { types: ARRAYS, run: proveUnique },
  contains: { types: ARRAYS, run: proveContains },
  unevaluatedItems: { types: ARRAYS, run: cannotTell },
};

function members(value: JsonValue): [string, JsonValue][] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

function proveProperties({ facts, value, path, below }: Obligation): BreakingChange[] {
  return members(value).flatMap(([name, schema]) => below(facts.property(name), schema, pointTo(path, name)));
}

/** What matches a pattern satisfies what the same pattern demanded before. */
function provePatterns({ facts, value, path, below }: Obligation): BreakingChange[] {
  return members(value).flatMap(([pattern, schema]) => {
    const known = facts.conjuncts.flatMap((conjunct): Conjunction[] => {
      const patterns = conjunct.schema.patternProperties;
      if (!isJsonObject(patterns) || !Object.hasOwn(patterns, pattern)) return [];
      return [conjunctsOf(patterns[pattern], conjunct.side)];
    });
    return below(
      known.find((each) => each === "nothing") ?? known.flatMap(asList),
      schema,
      pointTo(path, pattern),
    );
  });
}

function asList(conjunction: Conjunction) {
  return conjunction === "nothing" ? [] : conjunction;
}

function proveAdditional({ facts, target, value, path, below }: Obligation): BreakingChange[] {
  const named = new Set(Object.keys(target.schema.properties ?? {}));
  const additional = [...facts.propertyNames()].filter((name) => !named.has(name));
  return [
    ...additional.flatMap((name) => below(facts.property(name), value, `${path} (${name})`)),
    ...below(facts.otherProperties(new Set(patternsOf(target.schema))), value, path),
  ];
}

function proveRequired({ facts, value, fail }: Obligation): BreakingChange[] {
  const names = [value].flat().filter((name) => typeof name === "string");
  return names
    .filter((name) => !facts.requires(name))
    .flatMap((name) => fail(`"${name}" is newly required`, `"${name}" is no longer always there`));
}

function proveMinProperties(obligation: Obligation): BreakingChange[] {
  const required = new Set(obligation.facts.all("required").flat());
  return required.size >= Number(obligation.value) ? [] : proveMinimum(obligation);
}

function provePropertyNames({ facts, target, value, path, below }: Obligation): BreakingChange[] {
  const known = facts.conjuncts
    .filter(({ schema }) => schema.propertyNames !== undefined)
    .map(({ schema, side }) => conjunctsOf(schema.propertyNames, side));
  if (known.includes("nothing")) return [];
  return below([...known.flatMap(asList), { schema: STRING, side: target.side }], value, path);
}

const STRING = { type: "string" };

function proveDependentRequired({ facts, value, fail }: Obligation): BreakingChange[] {
  const known = facts.all("dependentRequired").filter(isJsonObject);
  const implied = (trigger: string, name: JsonValue) =>
    facts.requires(String(name)) ||
    facts.property(trigger) === "nothing" ||
    known.some((lists) => Object.hasOwn(lists, trigger) && [lists[trigger]].flat().includes(name));
  return members(value).flatMap(([trigger, names]) =>
    [names]
      .flat()
      .filter((name) => !implied(trigger, name))
      .flatMap((name) =>
        fail(`"${name}" is newly required with "${trigger}"`, `"${name}" no longer comes with "${trigger}"`),
      ),
  );
}

function provePrefixItems({ facts, value, path, below }: Obligation): BreakingChange[] {
  const prefix = Array.isArray(value) ? value : [];
  return prefix.flatMap((schema, index) => {
    return reaches(facts, index) ? below(facts.item(index), schema, pointTo(path, String(index))) : [];
  });
}

/** Items behind the prefix: each position some prefix speaks of, and one that stands for all the others. */
function proveItems({ facts, target, value, path, below }: Obligation): BreakingChange[] {
  const start = lengthOf(target.schema.prefixItems);
  const end = Math.max(start, ...facts.all("prefixItems").map(lengthOf));
  const positions = Array.from({ length: end - start + 1 }, (_, index) => start + index);
  return positions
    .filter((index) => reaches(facts, index))
    .flatMap((index) => below(facts.item(index), value, path));
}

function lengthOf(prefix: JsonValue | undefined): number {
  return Array.isArray(prefix) ? prefix.length : 0;
}

function reaches(facts: Obligation["facts"], index: number): boolean {
  return !facts.numbers("maxItems").some((max) => max <= index);
}

function proveUnique({ facts, value, fail }: Obligation): BreakingChange[] {
  if (value !== true || facts.has("uniqueItems", true) || !reaches(facts, 1)) return [];
  return fail("newly refuses equal items", "may newly have equal items");
}

function proveContains({ facts, target, value, fail }: Obligation): BreakingChange[] {
  const { minContains, maxContains } = target.schema;
  if (minContains === 0 && maxContains === undefined) return [];
  const same = facts.conjuncts.some(
    ({ schema }) =>
      isJsonObject(schema.contains) &&
      isJsonObject(value) &&
      sameMeaning(schema.contains, value) &&
      schema.minContains === minContains &&
      schema.maxContains === maxContains,
  );
  return same ? [] : fail(CANNOT_TELL, CANNOT_TELL);
}

/** True says nothing; all else was compared as a whole before, and differed. */
function cannotTell({ value, fail }: Obligation): BreakingChange[] {
  return value === true || (isJsonObject(value) && Object.keys(value).length === 0)
    ? []
    : fail(CANNOT_TELL, CANNOT_TELL);
}

function pointTo(path: string, key: string): string {
  return `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
