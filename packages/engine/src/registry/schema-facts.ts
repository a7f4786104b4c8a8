import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from "@sallyport/protocol";
import { BLOCKED, lookUp } from "../match/document.ts";

/** One of the two documents that are compared: its references resolve inside it. */
export class SchemaDocument {
  readonly #root: JsonSchema;
  readonly #anchors = new Map<string, JsonObject>();

  constructor(root: JsonSchema) {
    this.#root = root;
    this.#collectAnchors(root);
  }

  /** Undefined for a reference that leads nowhere; the compiler refuses such schemas before. */
  resolve(reference: string): JsonValue | undefined {
    const fragment = decodeURIComponent(reference.slice(1));
    if (fragment === "") return this.#root;
    if (!fragment.startsWith("/")) return this.#anchors.get(fragment);
    const tokens = fragment.slice(1).split("/");
    const keys = tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
    const found = lookUp(this.#root, keys);
    return found === BLOCKED ? undefined : found;
  }

  #collectAnchors(value: JsonValue): void {
    if (typeof value !== "object" || value === null) return;
    if (isJsonObject(value)) {
      for (const name of [value.$anchor, value.$dynamicAnchor]) {
        if (typeof name === "string") this.#anchors.set(name, value);
      }
    }
    for (const member of Object.values(value)) this.#collectAnchors(member);
  }
}

/** A schema object read together with the document its references belong to. */
export interface Conjunct {
  readonly schema: JsonObject;
  readonly document: SchemaDocument;
}

/** Schemas that all hold for a value; `"nothing"` when no value can satisfy them. */
export type Conjunction = readonly Conjunct[] | "nothing";

/**
 * Takes apart what must hold at once: a schema's own keywords, what it refers to and what its allOf lists.
 * Leaving a conjunct out (a reference that leads back to itself) only makes the set of values larger.
 */
export function conjunctsOf(schema: JsonValue | undefined, document: SchemaDocument): Conjunction {
  const found = new Set<JsonObject>();
  return collect(schema, document, found)
    ? [...found].map((part) => ({ schema: part, document }))
    : "nothing";
}

function collect(schema: JsonValue | undefined, document: SchemaDocument, found: Set<JsonObject>): boolean {
  if (schema === false) return false;
  if (!isJsonObject(schema) || found.has(schema)) return true;
  found.add(schema);
  const references = [schema.$ref, schema.$dynamicRef].filter((reference) => typeof reference === "string");
  const further = references.map((reference) => document.resolve(reference));
  return [...further, ...listOf(schema.allOf)].every((part) => collect(part, document, found));
}

/** What satisfies every one of several conjunctions. */
export function allOf(conjunctions: readonly Conjunction[]): Conjunction {
  const lists = conjunctions.filter((each) => each !== "nothing");
  return lists.length === conjunctions.length ? lists.flat() : "nothing";
}

export function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

const TYPES = ["null", "boolean", "object", "array", "string", "number", "integer"] as const;
export type JsonType = (typeof TYPES)[number];

/** Always the same objects, so that a proof can tell that it has been here before. */
export const TYPE_SCHEMAS: Record<JsonType, JsonObject> = {
  null: { type: "null" },
  boolean: { type: "boolean" },
  object: { type: "object" },
  array: { type: "array" },
  string: { type: "string" },
  number: { type: "number" },
  integer: { type: "integer" },
};

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
    const constants = this.all("const").map((value) => [value]);
    const [first, ...others] = [...this.all("enum").filter(Array.isArray), ...constants];
    if (!first) return undefined;
    const texts = others.map((list) => new Set(list.map(canonicalJson)));
    return first.filter((value) => texts.every((set) => set.has(canonicalJson(value))));
  }

  /** True when no value is left: no type, or no listed value. */
  isEmpty(): boolean {
    return this.types().size === 0 || this.values()?.length === 0;
  }

  requires(name: string): boolean {
    return this.all("required").some((names) => listOf(names).includes(name));
  }

  propertyNames(): Set<string> {
    return new Set(this.all("properties").flatMap((properties) => Object.keys(properties ?? {})));
  }

  /** What a property must satisfy if it is there. */
  property(name: string): Conjunction {
    return this.#every(({ schema, document }) => {
      const properties = isJsonObject(schema.properties) ? schema.properties : {};
      if (Object.hasOwn(properties, name)) return conjunctsOf(properties[name], document);
      return patternsOf(schema).length > 0 ? [] : conjunctsOf(schema.additionalProperties, document);
    });
  }

  /** What a property must satisfy that no schema mentions by name and none of `patterns` matches. */
  otherProperties(patterns: ReadonlySet<string>): Conjunction {
    return this.#every(({ schema, document }) => {
      // Another pattern may take any of them out of additionalProperties.
      if (!patternsOf(schema).every((pattern) => patterns.has(pattern))) return [];
      return conjunctsOf(schema.additionalProperties, document);
    });
  }

  /** What a property must satisfy because its name matches this very pattern. */
  matching(pattern: string): Conjunction {
    return this.#every(({ schema, document }) => {
      const patterns = isJsonObject(schema.patternProperties) ? schema.patternProperties : {};
      return Object.hasOwn(patterns, pattern) ? conjunctsOf(patterns[pattern], document) : [];
    });
  }

  /** What every property name must satisfy. */
  names(): Conjunction {
    return this.#every(({ schema, document }) => conjunctsOf(schema.propertyNames, document));
  }

  item(index: number): Conjunction {
    return this.#every(({ schema, document }) => {
      const prefix = listOf(schema.prefixItems);
      return conjunctsOf(index < prefix.length ? prefix[index] : schema.items, document);
    });
  }

  /** False when no array can be long enough to have an item there. */
  reaches(index: number): boolean {
    return !this.numbers("maxItems").some((max) => max <= index);
  }

  #every(part: (conjunct: Conjunct) => Conjunction): Conjunction {
    return allOf(this.conjuncts.map(part));
  }
}

export function patternsOf(schema: JsonObject): string[] {
  return Object.keys(schema.patternProperties ?? {});
}

function keepTypes(possible: Set<JsonType>, given: JsonValue[]): void {
  const allowed = new Set<JsonValue>(given);
  if (allowed.has("number")) allowed.add("integer");
  for (const type of possible) if (!allowed.has(type)) possible.delete(type);
}

function typeOf(value: JsonValue): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "object" ? "object" : typeof value === "boolean" ? "boolean" : "string";
}

/** No value satisfies both: by type, by listed values, or by a required property that tells them apart. */
export function areDisjoint(first: Facts, second: Conjunction): boolean {
  if (second === "nothing") return true;
  const other = new Facts(second);
  if (differentTypes(first, other) || differentValues(first, other)) return true;
  if ([...first.types(), ...other.types()].some((type) => type !== "object")) return false;
  return [...first.propertyNames()].some((name) => {
    const [ours, theirs] = [first.property(name), other.property(name)];
    if (!first.requires(name) || ours === "nothing" || theirs === "nothing") return false;
    return differentValues(new Facts(ours), new Facts(theirs));
  });
}

function differentTypes(first: Facts, second: Facts): boolean {
  const others = second.types();
  const isNumeric = (type: JsonType) => type === "number" || type === "integer";
  return [...first.types()].every(
    (type) => !others.has(type) && !(isNumeric(type) && [...others].some(isNumeric)),
  );
}

/** True when both list their values and share none. */
function differentValues(first: Facts, second: Facts): boolean {
  const [ours, theirs] = [first.values(), second.values()];
  if (!ours || !theirs) return false;
  const texts = new Set(theirs.map(canonicalJson));
  return ours.every((value) => !texts.has(canonicalJson(value)));
}

const WITHOUT_MEANING = new Set(
  (
    "$schema $id $comment $anchor $dynamicAnchor $defs definitions title description default examples deprecated " +
    "readOnly writeOnly"
  ).split(" "),
);
const HOLDS_VALUES = new Set(["enum", "const", "required", "dependentRequired"]);
const HOLDS_NAMES = new Set(["properties", "patternProperties", "dependentSchemas", "dependencies"]);

const texts = new WeakMap<JsonObject, string>();

/** True for schemas that read the same without their annotations and refer to nothing. */
export function sameMeaning(first: JsonValue | undefined, second: JsonValue | undefined): boolean {
  if (!isJsonObject(first) || !isJsonObject(second)) return false;
  if (first === second) return true;
  const text = textOf(first);
  return text === textOf(second) && !text.includes('"$ref"') && !text.includes('"$dynamicRef"');
}

function textOf(schema: JsonObject): string {
  const known = texts.get(schema);
  if (known !== undefined) return known;
  const text = canonicalJson(meaningOf(schema));
  texts.set(schema, text);
  return text;
}

function meaningOf(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(meaningOf);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([keyword]) => !WITHOUT_MEANING.has(keyword));
  return Object.fromEntries(
    entries.map(([keyword, member]): [string, JsonValue] => {
      if (HOLDS_VALUES.has(keyword)) return [keyword, member];
      if (!HOLDS_NAMES.has(keyword) || !isJsonObject(member)) return [keyword, meaningOf(member)];
      const schemas = Object.entries(member).map(([name, schema]) => [name, meaningOf(schema)] as const);
      return [keyword, Object.fromEntries(schemas)];
    }),
  );
}
