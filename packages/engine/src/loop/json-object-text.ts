import { isJsonObject, type JsonObject } from "@sallyport/protocol";

/** The object a JSON text stands for; undefined for every other text. */
export function jsonObjectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
