import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { PROOFS } from "./keyword-proofs.ts";
import { sameMeaning } from "./same-meaning.ts";
import { type Conjunct, type Conjunction, conjunctsOf, type SchemaSide } from "./schema-conjuncts.ts";
import type { BreakingChange } from "./schema-diff.ts";
import { Facts } from "./schema-facts.ts";
import { splits } from "./schema-splits.ts";

/** The schema that must hold for every value of another. */
export interface Target {
  readonly schema: JsonValue | undefined;
  readonly side: SchemaSide;
  readonly path: string;
}

/** What a keyword's proof may use: the facts it starts from, where it stands, and the way to go on. */
export interface Obligation {
  readonly facts: Facts;
  readonly target: Conjunct;
  readonly keyword: string;
  readonly value: JsonValue;
  readonly path: string;
  /** A part of the value: a property or an item. */
  below(from: Conjunction, schema: JsonValue | undefined, path: string): BreakingChange[];
  /** The same value again. */
  here(from: Conjunction, target: Target): BreakingChange[];
  /** The finding in the words of the side that is compared. */
  fail(input: string, output: string): BreakingChange[];
}

const MAX_STEPS = 5000;
const MAX_NESTING = 150;

/**
 * Proves that every value of one schema satisfies another. Proofs may lean on themselves for recursive schemas,
 * but only for a smaller value: values are finite, so that ends.
 */
export class Inclusion {
  readonly #words: "input" | "output";
  readonly #ids = new WeakMap<object, number>();
  readonly #begun = new Map<string, number>();
  readonly #proved = new Set<string>();
  #nextId = 0;
  #steps = 0;
  #depth = 0;
  #assumptions = 0;

  constructor(words: "input" | "output") {
    this.#words = words;
  }

  prove(from: Conjunction, target: Target): BreakingChange[] {
    if (from === "nothing" || target.schema === true || target.schema === undefined) return [];
    if (isEmpty(new Facts(from))) return [];
    if (!isJsonObject(target.schema))
      return this.#fail(target.path, "is no longer allowed", "is newly possible");
    return this.#once(from, target, target.schema);
  }

  #once(from: readonly Conjunct[], target: Target, schema: JsonObject): BreakingChange[] {
    const key = `${from.map((part) => this.#id(part.schema)).sort((a, b) => a - b)} in ${this.#id(schema)}`;
    if (this.#proved.has(key)) return [];
    const begunAt = this.#begun.get(key);
    if (begunAt !== undefined) return this.#recursion(begunAt, target.path);
    this.#steps += 1;
    if (this.#steps > MAX_STEPS || this.#begun.size > MAX_NESTING)
      return this.#fail(target.path, TOO_COMPLEX, TOO_COMPLEX);
    const assumptions = this.#assumptions;
    this.#begun.set(key, this.#depth);
    const changes = this.#conjuncts(from, target, schema);
    this.#begun.delete(key);
    if (changes.length === 0 && assumptions === this.#assumptions) this.#proved.add(key);
    return changes;
  }

  #recursion(begunAt: number, path: string): BreakingChange[] {
    this.#assumptions += 1;
    return this.#depth > begunAt
      ? []
      : this.#fail(path, "refers to itself without end", "refers to itself without end");
  }

  #conjuncts(from: readonly Conjunct[], target: Target, schema: JsonObject): BreakingChange[] {
    const parts = conjunctsOf(schema, target.side);
    if (parts === "nothing") return this.#fail(target.path, "is no longer allowed", "is newly possible");
    return parts.flatMap((part) => this.#conjunct(from, part, target.path));
  }

  #conjunct(from: readonly Conjunct[], part: Conjunct, path: string): BreakingChange[] {
    if (from.some(({ schema }) => sameMeaning(schema, part.schema))) return [];
    const changes = this.#keywords(new Facts(from), part, path);
    if (changes.length === 0) return [];
    for (const alternatives of splits(from)) {
      const split = alternatives.flatMap((each) =>
        this.prove(each, { schema: part.schema, side: part.side, path }),
      );
      if (split.length === 0) return [];
    }
    return changes;
  }

  #keywords(facts: Facts, target: Conjunct, path: string): BreakingChange[] {
    const types = facts.types();
    return Object.entries(target.schema).flatMap(([keyword, value]) => {
      const proof = PROOFS.get(keyword);
      if (!proof || (proof.types && !proof.types.some((type) => types.has(type)))) return [];
      return proof.run(this.#obligation(facts, target, { keyword, value, path }));
    });
  }

  #obligation(
    facts: Facts,
    target: Conjunct,
    { keyword, value, path }: { keyword: string; value: JsonValue; path: string },
  ): Obligation {
    const at = `${path}/${keyword}`;
    return {
      facts,
      target,
      keyword,
      value,
      path: at,
      below: (from, schema, below) => this.#below(from, { schema, side: target.side, path: below }),
      here: (from, other) => this.prove(from, other),
      fail: (input, output) => this.#fail(at, input, output),
    };
  }

  #below(from: Conjunction, target: Target): BreakingChange[] {
    this.#depth += 1;
    const changes = this.prove(from, target);
    this.#depth -= 1;
    return changes;
  }

  #fail(path: string, input: string, output: string): BreakingChange[] {
    return [{ path, reason: this.#words === "input" ? input : output }];
  }

  #id(schema: JsonObject): number {
    const known = this.#ids.get(schema);
    if (known !== undefined) return known;
    this.#nextId += 1;
    this.#ids.set(schema, this.#nextId);
    return this.#nextId;
  }
}

const TOO_COMPLEX = "is too complex to be compared";

/** No value can satisfy schemas that leave no type or no listed value. */
function isEmpty(facts: Facts): boolean {
  return facts.types().size === 0 || facts.values()?.length === 0;
}
