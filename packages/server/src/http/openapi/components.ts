import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "@sallyport/protocol";

const PREFIX = "#/components/schemas/";

/**
 * Collects the named shapes of a description: each is written once, under its name, and referred to everywhere else. Two
 * different shapes of one name are a mistake of whoever named them, and throw.
 */
export class Components {
  readonly #schemas = new Map<string, { shape: JsonSchema; text: string }>();

  /** The schema as it stands in the document, with references for what has a name. */
  use(schema: JsonSchema): JsonSchema {
    const { title } = schema;
    return typeof title === "string" ? this.#referTo(title, schema) : this.#within(schema);
  }

  /** By name, sorted. */
  all(): Record<string, JsonSchema> {
    const sorted = [...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, { shape }]) => [name, shape]));
  }

  #referTo(name: string, schema: JsonSchema): JsonSchema {
    const { title: _title, ...shape } = schema;
    const text = JSON.stringify(schema);
    const known = this.#schemas.get(name);
    if (known && known.text !== text) throw new Error(`Two different shapes are named ${name}.`);
    if (!known) {
      // Its place is taken first, so that a shape can hold itself.
      this.#schemas.set(name, { shape: {}, text });
      this.#schemas.set(name, { shape: this.#within(shape), text });
    }
    return { $ref: `${PREFIX}${name}` };
  }

  #within(schema: JsonSchema): JsonSchema {
    const entries = Object.entries(schema).map(([key, value]) => [key, this.#value(key, value)] as const);
    return lifted(Object.fromEntries(entries));
  }

  #value(key: string, value: JsonValue): JsonValue {
    if (key === "properties" && isJsonObject(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([name, part]) => [name, isJsonObject(part) ? this.use(part) : part]),
      );
    }
    if (["items", "additionalProperties"].includes(key) && isJsonObject(value)) return this.use(value);
    if (["anyOf", "oneOf", "allOf"].includes(key) && Array.isArray(value)) {
      return value.map((part) => (isJsonObject(part) ? this.use(part) : part));
    }
    return value;
  }
}

/** A reference with a sentence of its own needs no detour. */
function lifted(schema: JsonObject): JsonObject {
  const { allOf, ...rest } = schema;
  const [only, ...others] = Array.isArray(allOf) ? allOf : [];
  return isJsonObject(only) && "$ref" in only && others.length === 0 ? { ...only, ...rest } : schema;
}

/** The name a reference stands for; undefined when the schema is none. */
export function nameOfReference({ $ref }: JsonSchema): string | undefined {
  return typeof $ref === "string" && $ref.startsWith(PREFIX) ? $ref.slice(PREFIX.length) : undefined;
}
