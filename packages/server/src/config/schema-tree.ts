import { isJsonObject, type JsonObject } from "@sallyport/protocol";
import { z } from "zod";
import { configSchema } from "./schema.ts";

let made: JsonObject | undefined;

/** The configuration's JSON Schema, for editors and for everything that explains a key. */
export function configJsonSchema(): JsonObject {
  made ??= {
    ...(z.toJSONSchema(configSchema, { io: "input" }) as JsonObject),
    title: "Sallyport configuration",
  };
  return made;
}

/** The schemas of which a value may follow one: itself, or each of its choices. */
export function choicesOf(schema: JsonObject): JsonObject[] {
  return Array.isArray(schema.anyOf) ? schema.anyOf.filter(isJsonObject).flatMap(choicesOf) : [schema];
}

/** The keys an object by this schema may have, each with its own schema. */
export function propertiesOf(schema: JsonObject): [string, JsonObject][] {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  return Object.entries(properties).flatMap(([name, value]) =>
    isJsonObject(value) ? [[name, value] as [string, JsonObject]] : [],
  );
}

/** The schema of what stands in a list; undefined for anything that is no list. */
export function itemsOf(schema: JsonObject): JsonObject | undefined {
  return isJsonObject(schema.items) ? schema.items : undefined;
}

/** The schema of what stands under names of one's own choice; undefined where the names are given. */
export function namedOf(schema: JsonObject): JsonObject | undefined {
  return isJsonObject(schema.additionalProperties) ? schema.additionalProperties : undefined;
}

/** What may stand at a place: every choice there is; empty when nothing may. */
export function schemasAt(path: readonly PropertyKey[]): JsonObject[] {
  let here = choicesOf(configJsonSchema());
  for (const step of path) here = here.flatMap((schema) => stepInto(schema, step)).flatMap(choicesOf);
  return here;
}

function stepInto(schema: JsonObject, step: PropertyKey): JsonObject[] {
  const property = propertiesOf(schema).find(([name]) => name === step)?.[1];
  const found = property ?? (typeof step === "number" ? itemsOf(schema) : namedOf(schema));
  return found ? [found] : [];
}

/** The keys that may stand at a place. */
export function namesAt(path: readonly PropertyKey[]): string[] {
  return [...new Set(schemasAt(path).flatMap((schema) => propertiesOf(schema).map(([name]) => name)))];
}
