import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { both, type Conjunct, type Conjunction, conjunctsOf } from "./schema-conjuncts.ts";

export const TYPES = ["null", "boolean", "object", "array", "string", "number", "integer"] as const;
export type JsonType = (typeof TYPES)[number];

/** What is known of every value that satisfies some schemas at once; unknown is always the larger answer. */
export class Facts {
  readonly conjuncts: readonly Conjunct[];

  constructor(conjuncts: readonly Conjunct[]) {
    this.conjuncts = conjuncts;
  }

  /** The values of a keyword wherever it is given. */
  all(keyword: string): JsonValue[] {
    return this.conjuncts.flatMap(({ schema }) => {
      const value = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
      return value === undefined ? [] : [value];
    });
  }

  numbers(keyword: string): number[] {
    return this.all(keyword).filter((value) => typeof value === "number");
  }

  has(keyword: string, value: JsonValue): boolean {
    return this.all(keyword).includes(value);
  }

  /** The types that are possible; `number` stands for any number, `integer` for whole ones only. */
  types(): Set<JsonType> {
    const possible = new Set<JsonType>(TYPES);
    for (const given of this.all("type")) keepTypes(possible, [given].flat());
    const values = this.values();
    if (values) keepTypes(possible, values.map(typeOf));
    if (possible.has("number")) possible.delete("integer");
    return possible;
  }

  /** The values there can be at most, when they are listed by enum or const. */
  values(): JsonValue[] | undefined {
    const lists = [...this.all("enum").filter(Array.isArray), ...this.#constants()];
    const [first, ...others] = lists;
    if (!first) return undefined;
    const texts = others.map((list) => new Set(list.map(canonicalJson)));
    return first.filter((value) => texts.every((set) => set.has(canonicalJson(value))));
  }

  requires(name: string): boolean {
    return this.all("required").some((names) => Array.isArray(names) && names.includes(name));
  }

  /** What a property must satisfy if it is there. */
  property(name: string): Conjunction {
    return this.#together((conjunct) => ownProperty(conjunct, name));
  }

  /** What a property must satisfy that no schema mentions by name and none of `patterns` matches. */
  otherProperties(patterns: ReadonlySet<string>): Conjunction {
    return this.#together(({ schema, side }) => {
      // Another pattern may take any of them out of additionalProperties.
      if (!patternsOf(schema).every((pattern) => patterns.has(pattern))) return [];
      return conjunctsOf(schema.additionalProperties, side);
    });
  }

  propertyNames(): Set<string> {
    return new Set(this.all("properties").flatMap((properties) => Object.keys(properties ?? {})));
  }

  item(index: number): Conjunction {
    return this.#together(({ schema, side }) => {
      const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
      return conjunctsOf(index < prefix.length ? prefix[index] : schema.items, side);
    });
  }

  #together(part: (conjunct: Conjunct) => Conjunction): Conjunction {
    return this.conjuncts.map(part).reduce(both, []);
  }

  #constants(): JsonValue[][] {
    return this.all("const").map((value) => [value]);
  }
}

function ownProperty({ schema, side }: Conjunct, name: string): Conjunction {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  if (Object.hasOwn(properties, name)) return conjunctsOf(properties[name], side);
  return patternsOf(schema).length > 0 ? [] : conjunctsOf(schema.additionalProperties, side);
}

export function patternsOf(schema: JsonObject): string[] {
  return Object.keys(schema.patternProperties ?? {});
}

function keepTypes(possible: Set<JsonType>, given: JsonValue[]): void {
  const allowed = new Set<JsonValue>(given);
  if (allowed.has("number")) allowed.add("integer");
  for (const type of possible) if (!allowed.has(type)) possible.delete(type);
}

export function typeOf(value: JsonValue): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "object" ? "object" : typeof value === "boolean" ? "boolean" : "string";
}
