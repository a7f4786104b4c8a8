import { isJsonObject, type JsonValue } from "@sallyport/protocol";

/**
 * What a model is told of a command that succeeded: its output, and what it said besides when that is not blank
 * (FR-TOOL-CMD-01). Output that is no text stays in base64, and says so.
 */
export function commandResultText(result: JsonValue): string {
  if (!isJsonObject(result)) return typeof result === "string" ? result : JSON.stringify(result);
  const { stdout, stderr, encoding } = result;
  const output = typeof stdout === "string" ? stdout : "";
  const shown = encoding === "base64" ? `[binary:base64]\n${output}` : output;
  return typeof stderr === "string" && stderr.trim() !== "" ? `${shown}\n\n[stderr]\n${stderr}` : shown;
}
