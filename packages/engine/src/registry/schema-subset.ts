import { isJsonObject, type JsonObject, type JsonSchema } from "@sallyport/protocol";
import {
  allOf,
  type Conjunct,
  type Conjunction,
  conjunctsOf,
  Facts,
  SchemaDocument,
  sameMeaning,
  TYPE_SCHEMAS,
} from "./schema-facts.ts";
import { type BreakingChange, KEYWORD_RULES, type Prover, type Target } from "./schema-rules.ts";

const MAX_STEPS = 5000;
const MAX_NESTING = 150;
const TOO_COMPLEX = "is too complex to be compared";
const ENDLESS = "refers to itself without end";

/**
 * Proves that every value of one schema satisfies another. Proofs may lean on themselves for recursive schemas,
 * but only for a smaller value: values are finite, so that ends.
 */
export class SubsetProof implements Prover {
  readonly #side: "input" | "output";
  readonly #ids = new WeakMap<object, number>();
  readonly #begun = new Map<string, number>();
  readonly #proved = new Set<string>();
  #nextId = 0;
  #steps = 0;
  #depth = 0;
  #assumptions = 0;

  /** The side says in which words a finding is reported. */
  constructor(side: "input" | "output") {
    this.#side = side;
  }

  /** Empty when every value of `narrow` satisfies `wide`. */
  run(narrow: JsonSchema, wide: JsonSchema): BreakingChange[] {
    const from = conjunctsOf(narrow, new SchemaDocument(narrow));
    return this.prove(from, { schema: wide, document: new SchemaDocument(wide), path: "" });
  }

  prove(from: Conjunction, target: Target): BreakingChange[] {
    const { schema, path } = target;
    if (from === "nothing" || schema === true || schema === undefined || new Facts(from).isEmpty()) return [];
    if (isJsonObject(schema)) return this.#once(from, target, schema);
    return this.changed(path, "is no longer allowed", "is newly possible");
  }

  proveBelow(from: Conjunction, target: Target): BreakingChange[] {
    this.#depth += 1;
    const changes = this.prove(from, target);
    this.#depth -= 1;
    return changes;
  }

  changed(path: string, input: string, output = input): BreakingChange[] {
    return [{ path, reason: this.#side === "input" ? input : output }];
  }

  #once(from: readonly Conjunct[], target: Target, schema: JsonObject): BreakingChange[] {
    const key = `${from.map((part) => this.#id(part.schema)).sort((a, b) => a - b)} in ${this.#id(schema)}`;
    if (this.#proved.has(key)) return [];
    const begunAt = this.#begun.get(key);
    if (begunAt !== undefined) {
      this.#assumptions += 1;
      return this.#depth > begunAt ? [] : this.changed(target.path, ENDLESS);
    }
    this.#steps += 1;
    if (this.#steps > MAX_STEPS || this.#begun.size > MAX_NESTING)
      return this.changed(target.path, TOO_COMPLEX);
    const assumptions = this.#assumptions;
    this.#begun.set(key, this.#depth);
    const changes = this.#conjuncts(from, target, schema);
    this.#begun.delete(key);
    if (changes.length === 0 && assumptions === this.#assumptions) this.#proved.add(key);
    return changes;
  }

  #conjuncts(from: readonly Conjunct[], { document, path }: Target, schema: JsonObject): BreakingChange[] {
    const parts = conjunctsOf(schema, document);
    if (parts === "nothing") return this.changed(path, "is no longer allowed", "is newly possible");
    return parts.flatMap((part) => this.#conjunct(from, part, path));
  }

  #conjunct(from: readonly Conjunct[], part: Conjunct, path: string): BreakingChange[] {
    if (from.some(({ schema }) => sameMeaning(schema, part.schema))) return [];
    const changes = this.#keywords(new Facts(from), part, path);
    if (changes.length === 0) return [];
    for (const alternatives of splits(from)) {
      const split = alternatives.flatMap((each) => this.prove(each, { ...part, path }));
      if (split.length === 0) return [];
    }
    return changes;
  }

  #keywords(facts: Facts, target: Conjunct, path: string): BreakingChange[] {
    const types = facts.types();
    return Object.entries(target.schema).flatMap(([keyword, value]) => {
      const rule = KEYWORD_RULES.get(keyword);
      if (!rule || (rule.type && !rule.type.some((type) => types.has(type)))) return [];
      return rule.check({ proof: this, facts, target, keyword, value, path: `${path}/${keyword}` });
    });
  }

  #id(schema: JsonObject): number {
    const known = this.#ids.get(schema);
    if (known !== undefined) return known;
    this.#nextId += 1;
    this.#ids.set(schema, this.#nextId);
    return this.#nextId;
  }
}

const MAX_VALUES = 64;
const NO_REFERENCES = new SchemaDocument({});

/**
 * Ways to see a set of values as a union of smaller ones: by the alternatives of anyOf or oneOf, by type, by
 * listed value. What holds for each part holds for the whole.
 */
function* splits(from: readonly Conjunct[]): Generator<Conjunction[]> {
  for (const [index, conjunct] of from.entries()) {
    for (const keyword of ["anyOf", "oneOf"]) {
      const branches = conjunct.schema[keyword];
      if (!Array.isArray(branches)) continue;
      const rest = from.with(index, { ...conjunct, schema: without(conjunct.schema, keyword) });
      yield branches.map((branch) => allOf([rest, conjunctsOf(branch, conjunct.document)]));
    }
  }
  const facts = new Facts(from);
  const values = facts.values() ?? [];
  const types = [...facts.types()];
  const narrowed = (schema: JsonObject): Conjunction => [...from, { schema, document: NO_REFERENCES }];
  if (values.length > 1 && values.length <= MAX_VALUES)
    yield values.map((value) => narrowed({ const: value }));
  if (types.length > 1) yield types.map((type) => narrowed(TYPE_SCHEMAS[type]));
}

const reduced = new WeakMap<JsonObject, Map<string, JsonObject>>();

/** The same object each time, so that a proof can tell that it has been here before. */
function without(schema: JsonObject, keyword: string): JsonObject {
  const known = reduced.get(schema) ?? new Map<string, JsonObject>();
  reduced.set(schema, known);
  const { [keyword]: _left, ...rest } = schema;
  const copy = known.get(keyword) ?? rest;
  known.set(keyword, copy);
  return copy;
}
