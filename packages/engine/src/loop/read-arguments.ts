import { type Failure, failure, isJsonObject, type JsonObject } from "@sallyport/protocol";

/**
 * The arguments of a call from the text the model sent. No text at all is how some providers say that there are none.
 * The refusal names the place but never repeats the text, in which there may be a secret.
 */
export function readArguments(text: string): { input: JsonObject } | { error: Failure } {
  if (text.trim() === "") return { input: {} };
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value)
      ? { input: value }
      : { error: bad(`Arguments must be a JSON object, not ${kindOf(value)}`) };
  } catch (thrown) {
    return { error: bad(`Arguments are not valid JSON${placeOf(thrown)}`) };
  }
}

function bad(message: string): Failure {
  return failure("E3901", {
    message,
    advice: "Send the arguments as one JSON object that fits the tool's schema.",
  });
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

function placeOf(thrown: unknown): string {
  const said = thrown instanceof Error ? thrown.message : "";
  const position = / at position (\d+)/.exec(said)?.[1];
  if (position !== undefined) return ` at position ${position}`;
  return said.includes("end of JSON input") ? ": they end too early" : "";
}
