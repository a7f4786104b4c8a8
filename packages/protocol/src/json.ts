/** A value that survives JSON unchanged. Everything that crosses a door is one of these. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

export interface JsonObject {
  [key: string]: JsonValue;
}

/** A JSON Schema document (draft 2020-12). Its meaning is the validator's business, not the type's. */
export type JsonSchema = JsonObject;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
