import { canonicalJson, isJsonObject, type JsonValue } from "@sallyport/protocol";
import { pointTo } from "../match/document.ts";
import {
  allOf,
  areDisjoint,
  type Conjunct,
  type Conjunction,
  conjunctsOf,
  type Facts,
  type JsonType,
  listOf,
  patternsOf,
  type SchemaDocument,
  sameMeaning,
  TYPE_SCHEMAS,
} from "./schema-facts.ts";

/** One thing that worked with the older version and may not work with the newer one. */
export interface BreakingChange {
  /** Where, as the pointer of what changed. */
  path: string;
  reason: string;
}

/** The schema that must hold for every value of another. */
export interface Target {
  readonly schema: JsonValue | undefined;
  readonly document: SchemaDocument;
  readonly path: string;
}

/** What the rules use of the proof they belong to. */
export interface Prover {
  /** Empty when every value of `from` satisfies the target. */
  prove(from: Conjunction, target: Target): BreakingChange[];
  /** The same for a part of the value: a property or an item. */
  proveBelow(from: Conjunction, target: Target): BreakingChange[];
  /** A finding in the words of the side that is compared. */
  changed(path: string, input: string, output?: string): BreakingChange[];
}

/** One keyword of the target that must hold for every value the facts allow. */
interface KeywordCheck {
  readonly proof: Prover;
  readonly facts: Facts;
  readonly target: Conjunct;
  readonly keyword: string;
  readonly value: JsonValue;
  readonly path: string;
}

interface KeywordRule {
  /** The keyword says something about values of these types only. */
  type?: readonly JsonType[];
  /** An empty answer is the proof. */
  check(check: KeywordCheck): BreakingChange[];
}

const CANNOT_TELL = "changed in a way that cannot be compared";
const NUMBERS: readonly JsonType[] = ["number", "integer"];
const STRINGS: readonly JsonType[] = ["string"];
const OBJECTS: readonly JsonType[] = ["object"];
const ARRAYS: readonly JsonType[] = ["array"];

/** Keywords that are missing here are annotations, or are handled by taking schemas apart ($ref, allOf). */
export const KEYWORD_RULES: ReadonlyMap<string, KeywordRule> = new Map<string, KeywordRule>([
  ["type", { check: checkType }],
  ["enum", { check: (each) => checkListed(each, [each.value].flat()) }],
  ["const", { check: (each) => checkListed(each, [each.value]) }],
  ["minimum", { type: NUMBERS, check: checkBound }],
  ["exclusiveMinimum", { type: NUMBERS, check: checkBound }],
  ["maximum", { type: NUMBERS, check: checkBound }],
  ["exclusiveMaximum", { type: NUMBERS, check: checkBound }],
  ["multipleOf", { type: NUMBERS, check: checkMultiple }],
  ["minLength", { type: STRINGS, check: checkCount }],
  ["maxLength", { type: STRINGS, check: checkCount }],
  ["pattern", { type: STRINGS, check: checkSame }],
  ["format", { type: STRINGS, check: checkSame }],
  ["properties", { type: OBJECTS, check: checkProperties }],
  ["patternProperties", { type: OBJECTS, check: checkPatterns }],
  ["additionalProperties", { type: OBJECTS, check: checkAdditional }],
  ["required", { type: OBJECTS, check: checkRequired }],
  ["minProperties", { type: OBJECTS, check: checkMinProperties }],
  ["maxProperties", { type: OBJECTS, check: checkCount }],
  ["propertyNames", { type: OBJECTS, check: checkPropertyNames }],
  ["dependentRequired", { type: OBJECTS, check: checkDependentRequired }],
  ["dependentSchemas", { type: OBJECTS, check: cannotTell }],
  ["dependencies", { type: OBJECTS, check: cannotTell }],
  ["unevaluatedProperties", { type: OBJECTS, check: cannotTell }],
  ["prefixItems", { type: ARRAYS, check: checkPrefixItems }],
  ["items", { type: ARRAYS, check: checkItems }],
  ["minItems", { type: ARRAYS, check: checkCount }],
  ["maxItems", { type: ARRAYS, check: checkCount }],
  ["uniqueItems", { type: ARRAYS, check: checkUnique }],
  ["contains", { type: ARRAYS, check: checkContains }],
  ["unevaluatedItems", { type: ARRAYS, check: cannotTell }],
  ["anyOf", { check: checkAnyOf }],
  ["oneOf", { check: checkOneOf }],
  ["not", { check: checkNot }],
  ["if", { check: checkIf }],
]);

function checkType({ proof, facts, value, path }: KeywordCheck): BreakingChange[] {
  const allowed = [value].flat();
  const refused = [...facts.types()].filter(
    (type) => !allowed.includes(type) && !(type === "integer" && allowed.includes("number")),
  );
  if (refused.length === 0) return [];
  const types = refused.join(", ");
  return proof.changed(path, `no longer accepts ${types}`, `may newly be ${types}`);
}

function checkListed({ proof, facts, path }: KeywordCheck, listed: JsonValue[]): BreakingChange[] {
  const values = facts.values();
  if (!values) {
    const output = "is no longer limited to the listed values";
    return proof.changed(path, "newly accepts only listed values", output);
  }
  const allowed = new Set(listed.map(canonicalJson));
  const missing = values.filter((value) => !allowed.has(canonicalJson(value)));
  if (missing.length === 0) return [];
  const texts = missing.slice(0, 5).map((value) => JSON.stringify(value).slice(0, 60));
  return proof.changed(path, `no longer accepts ${texts.join(", ")}`, `may newly be ${texts.join(", ")}`);
}

const HOLDS: Record<string, (value: number, limit: number) => boolean> = {
  minimum: (value, limit) => value >= limit,
  exclusiveMinimum: (value, limit) => value > limit,
  maximum: (value, limit) => value <= limit,
  exclusiveMaximum: (value, limit) => value < limit,
};

function checkBound(check: KeywordCheck): BreakingChange[] {
  const { facts, keyword, value } = check;
  const limit = Number(value);
  const [inclusive, exclusive] = keyword.endsWith("inimum")
    ? (["minimum", "exclusiveMinimum"] as const)
    : (["maximum", "exclusiveMaximum"] as const);
  const holds = (each: number) => HOLDS[keyword]?.(each, limit) === true;
  // A bound that excludes itself also implies the inclusive one of the same number.
  if (facts.numbers(inclusive).some(holds)) return [];
  if (facts.numbers(exclusive).some((known) => HOLDS[inclusive]?.(known, limit))) return [];
  const listed = facts.values()?.filter((each) => typeof each === "number");
  return listed?.every(holds) ? [] : stricter(check);
}

/** For keywords that count something, where the known bound is under the same keyword. */
function checkCount(check: KeywordCheck): BreakingChange[] {
  const { facts, keyword, value } = check;
  const limit = Number(value);
  const isLower = keyword.startsWith("min");
  const known = facts.numbers(keyword);
  const isImplied = isLower
    ? limit === 0 || known.some((each) => each >= limit)
    : known.some((each) => each <= limit);
  return isImplied ? [] : stricter(check);
}

function stricter({ proof, keyword, value, path }: KeywordCheck): BreakingChange[] {
  const bound = `${keyword} ${Number(value)}`;
  return proof.changed(path, `${bound} is stricter than before`, `is no longer limited by ${bound}`);
}

function checkMultiple({ proof, facts, value, path }: KeywordCheck): BreakingChange[] {
  const factor = Number(value);
  if (factor === 1 && !facts.types().has("number")) return [];
  // Only whole numbers are divided: remainders of fractions are not exact.
  const isMultiple = (known: number) =>
    known === factor || (Number.isSafeInteger(known) && Number.isSafeInteger(factor) && known % factor === 0);
  if (facts.numbers("multipleOf").some(isMultiple)) return [];
  const output = `is no longer always a multiple of ${factor}`;
  return proof.changed(path, `newly accepts only multiples of ${factor}`, output);
}

/** Two different patterns or formats cannot be compared. */
function checkSame({ proof, facts, keyword, value, path }: KeywordCheck): BreakingChange[] {
  if (facts.all(keyword).includes(value)) return [];
  const output = `no longer promises the ${keyword} it had`;
  return proof.changed(path, `demands another ${keyword} than before`, output);
}

function members(value: JsonValue): [string, JsonValue][] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

function below({ proof, target, path }: KeywordCheck, from: Conjunction, part: [JsonValue, key?: string]) {
  const [schema, key] = part;
  const at = key === undefined ? path : pointTo(path, key);
  return proof.proveBelow(from, { schema, document: target.document, path: at });
}

function checkProperties(check: KeywordCheck): BreakingChange[] {
  return members(check.value).flatMap(([name, schema]) =>
    below(check, check.facts.property(name), [schema, name]),
  );
}

/** What matches a pattern satisfies what the same pattern demanded before. */
function checkPatterns(check: KeywordCheck): BreakingChange[] {
  return members(check.value).flatMap(([pattern, schema]) =>
    below(check, check.facts.matching(pattern), [schema, pattern]),
  );
}

function checkAdditional(check: KeywordCheck): BreakingChange[] {
  const { facts, target, value, path } = check;
  const named = new Set(Object.keys(target.schema.properties ?? {}));
  const additional = [...facts.propertyNames()].filter((name) => !named.has(name));
  return [
    ...additional.flatMap((name) =>
      below({ ...check, path: `${path} (${name})` }, facts.property(name), [value]),
    ),
    ...below(check, facts.otherProperties(new Set(patternsOf(target.schema))), [value]),
  ];
}

function checkRequired({ proof, facts, value, path }: KeywordCheck): BreakingChange[] {
  const names = [value].flat().filter((name) => typeof name === "string" && !facts.requires(name));
  return names.flatMap((name) =>
    proof.changed(path, `"${name}" is newly required`, `"${name}" is no longer always there`),
  );
}

function checkMinProperties(check: KeywordCheck): BreakingChange[] {
  const required = new Set(check.facts.all("required").flat());
  return required.size >= Number(check.value) ? [] : checkCount(check);
}

function checkPropertyNames(check: KeywordCheck): BreakingChange[] {
  const text = { schema: TYPE_SCHEMAS.string, document: check.target.document };
  return below(check, allOf([check.facts.names(), [text]]), [check.value]);
}

function checkDependentRequired({ proof, facts, value, path }: KeywordCheck): BreakingChange[] {
  const known = facts.all("dependentRequired").filter(isJsonObject);
  const isImplied = (trigger: string, name: JsonValue) =>
    facts.requires(String(name)) ||
    facts.property(trigger) === "nothing" ||
    known.some((lists) => Object.hasOwn(lists, trigger) && [lists[trigger]].flat().includes(name));
  return members(value).flatMap(([trigger, names]) => {
    const missing = [names].flat().filter((name) => !isImplied(trigger, name));
    return missing.flatMap((name) => {
      const output = `"${name}" no longer comes with "${trigger}"`;
      return proof.changed(path, `"${name}" is newly required with "${trigger}"`, output);
    });
  });
}

function checkPrefixItems(check: KeywordCheck): BreakingChange[] {
  const { facts, value } = check;
  return listOf(value).flatMap((schema, index) =>
    facts.reaches(index) ? below(check, facts.item(index), [schema, String(index)]) : [],
  );
}

/** Items behind the prefix: each position some prefix speaks of, and one that stands for all the others. */
function checkItems(check: KeywordCheck): BreakingChange[] {
  const { facts, target, value } = check;
  const start = listOf(target.schema.prefixItems).length;
  const end = Math.max(start, ...facts.all("prefixItems").map((prefix) => listOf(prefix).length));
  const positions = Array.from({ length: end - start + 1 }, (_, index) => start + index);
  return positions
    .filter((index) => facts.reaches(index))
    .flatMap((index) => below(check, facts.item(index), [value]));
}

function checkUnique({ proof, facts, value, path }: KeywordCheck): BreakingChange[] {
  if (value !== true || facts.all("uniqueItems").includes(true) || !facts.reaches(1)) return [];
  return proof.changed(path, "newly refuses equal items", "may newly have equal items");
}

function checkContains({ proof, facts, target, value, path }: KeywordCheck): BreakingChange[] {
  const { minContains, maxContains } = target.schema;
  if (minContains === 0 && maxContains === undefined) return [];
  const isSame = facts.conjuncts.some(
    ({ schema }) =>
      sameMeaning(schema.contains, value) &&
      schema.minContains === minContains &&
      schema.maxContains === maxContains,
  );
  return isSame ? [] : proof.changed(path, CANNOT_TELL);
}

/** True says nothing; all else was compared as a whole before, and differed. */
function cannotTell({ proof, value, path }: KeywordCheck): BreakingChange[] {
  const saysNothing = value === true || (isJsonObject(value) && Object.keys(value).length === 0);
  return saysNothing ? [] : proof.changed(path, CANNOT_TELL);
}

function fits({ proof, facts, target, path }: KeywordCheck, branch: JsonValue): boolean {
  return proof.prove(facts.conjuncts, { schema: branch, document: target.document, path }).length === 0;
}

function checkAnyOf(check: KeywordCheck): BreakingChange[] {
  if (listOf(check.value).some((branch) => fits(check, branch))) return [];
  const input = "may fit none of the alternatives";
  return check.proof.changed(check.path, input, "may fit none of the former alternatives");
}

/** One alternative fits and all others cannot, or the alternatives are the same ones as before. */
function checkOneOf(check: KeywordCheck): BreakingChange[] {
  const { proof, facts, target, value, path } = check;
  const branches = listOf(value);
  const excludes = (branch: JsonValue) => areDisjoint(facts, conjunctsOf(branch, target.document));
  const fitsOnlyOne = branches.some(
    (branch, index) =>
      fits(check, branch) && branches.every((other, position) => position === index || excludes(other)),
  );
  if (fitsOnlyOne || hasSameOneOf(check)) return [];
  const output = "may not fit exactly one of the former alternatives";
  return proof.changed(path, "may not fit exactly one alternative", output);
}

function hasSameOneOf({ proof, facts, target, value, path }: KeywordCheck): boolean {
  const includes = (from: Omit<Target, "path">, to: Omit<Target, "path">) =>
    proof.prove(conjunctsOf(from.schema, from.document), { ...to, path }).length === 0;
  const theirs = listOf(value);
  return facts.conjuncts.some(({ schema, document }) => {
    const ours = listOf(schema.oneOf);
    if (ours.length !== theirs.length || ours.length === 0) return false;
    return ours.every((branch, index) => {
      const [mine, other] = [
        { schema: branch, document },
        { schema: theirs[index], document: target.document },
      ];
      return includes(mine, other) && includes(other, mine);
    });
  });
}

function checkNot({ proof, facts, target, value, path }: KeywordCheck): BreakingChange[] {
  const excluded = conjunctsOf(value, target.document);
  if (areDisjoint(facts, excluded)) return [];
  const wasExcluded = facts.conjuncts.some(
    ({ schema, document }) =>
      schema.not !== undefined && proof.prove(excluded, { schema: schema.not, document, path }).length === 0,
  );
  return wasExcluded ? [] : proof.changed(path, "may newly be excluded", "may be what was excluded before");
}

/** The same condition with the same or stricter consequences. */
function checkIf({ proof, facts, target, value, path }: KeywordCheck): BreakingChange[] {
  if (target.schema.then === undefined && target.schema.else === undefined) return [];
  const isImplied = facts.conjuncts.some(
    ({ schema, document }) =>
      sameMeaning(schema.if, value) &&
      ["then", "else"].every((keyword) => {
        const consequence = conjunctsOf(schema[keyword], document);
        const demanded = { ...target, schema: target.schema[keyword], path: `${path}/${keyword}` };
        return proof.prove(consequence, demanded).length === 0;
      }),
  );
  return isImplied ? [] : proof.changed(path, CANNOT_TELL);
}
