import type { JsonObject } from "@sallyport/protocol";
import { both, type Conjunct, type Conjunction, conjunctsOf, SchemaSide } from "./schema-conjuncts.ts";
import { Facts, type JsonType } from "./schema-facts.ts";

const MAX_VALUES = 64;

/**
 * Ways to see a set of values as a union of smaller ones: by the alternatives of anyOf or oneOf, by type, by
 * listed value. What holds for each part holds for the whole.
 */
export function* splits(from: readonly Conjunct[]): Generator<Conjunction[]> {
  for (const [index, conjunct] of from.entries()) {
    for (const keyword of ["anyOf", "oneOf"]) {
      const branches = conjunct.schema[keyword];
      if (!Array.isArray(branches)) continue;
      const rest = from.with(index, { ...conjunct, schema: without(conjunct.schema, keyword) });
      yield branches.map((branch) => both(rest, conjunctsOf(branch, conjunct.side)));
    }
  }
  const facts = new Facts(from);
  const values = facts.values() ?? [];
  const types = [...facts.types()];
  if (values.length > 1 && values.length <= MAX_VALUES)
    yield narrowed(
      from,
      values.map((value) => ({ const: value })),
    );
  if (types.length > 1)
    yield narrowed(
      from,
      types.map((type) => TYPE_SCHEMAS[type]),
    );
}

function narrowed(from: readonly Conjunct[], schemas: JsonObject[]): Conjunction[] {
  return schemas.map((schema) => [...from, { schema, side: NO_REFERENCES }]);
}

const NO_REFERENCES = new SchemaSide({});

/** Always the same objects, so that a proof can tell that it has been here before. */
const TYPE_SCHEMAS: Record<JsonType, JsonObject> = {
  null: { type: "null" },
  boolean: { type: "boolean" },
  object: { type: "object" },
  array: { type: "array" },
  string: { type: "string" },
  number: { type: "number" },
  integer: { type: "integer" },
};

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
