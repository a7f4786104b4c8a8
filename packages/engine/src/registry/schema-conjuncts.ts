import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "@sallyport/protocol";

/** One of the two documents that are compared: its references resolve inside it. */
export class SchemaSide {
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
    let place: JsonValue | undefined = this.#root;
    for (const token of fragment.slice(1).split("/")) {
      place = memberOf(place, token.replaceAll("~1", "/").replaceAll("~0", "~"));
    }
    return place;
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

function memberOf(place: JsonValue | undefined, token: string): JsonValue | undefined {
  if (typeof place !== "object" || place === null || !Object.hasOwn(place, token)) return undefined;
  return Reflect.get(place, token);
}

/** A schema object read together with the document its references belong to. */
export interface Conjunct {
  readonly schema: JsonObject;
  readonly side: SchemaSide;
}

/** Schemas that all hold for a value; `"nothing"` when no value can satisfy them. */
export type Conjunction = readonly Conjunct[] | "nothing";

/**
 * Takes apart what must hold at once: a schema's own keywords, what it refers to and what its allOf lists.
 * Leaving a conjunct out (a reference that leads back to itself) only makes the set of values larger.
 */
export function conjunctsOf(schema: JsonValue | undefined, side: SchemaSide): Conjunction {
  const found = new Set<JsonObject>();
  return collect(schema, side, found) ? [...found].map((part) => ({ schema: part, side })) : "nothing";
}

function collect(schema: JsonValue | undefined, side: SchemaSide, found: Set<JsonObject>): boolean {
  if (schema === false) return false;
  if (!isJsonObject(schema) || found.has(schema)) return true;
  found.add(schema);
  const further = [schema.$ref, schema.$dynamicRef]
    .filter((reference) => typeof reference === "string")
    .map((reference) => side.resolve(reference));
  const all = Array.isArray(schema.allOf) ? schema.allOf : [];
  return [...further, ...all].every((part) => collect(part, side, found));
}

export function both(first: Conjunction, second: Conjunction): Conjunction {
  return first === "nothing" || second === "nothing" ? "nothing" : [...first, ...second];
}
