import { type Failure, failure, isJsonObject, type JsonValue } from "@sallyport/protocol";

const PLACEHOLDER = /\[([^[\]]*)\]|\{([^{}]+)\}/g;
const MAX_VALUE_CHARS = 120;

/**
 * Fills a tool's own sentence about a call from the checked arguments: `{path}` stands for an argument (dots go
 * deeper), and a part in square brackets is left out when one of its arguments is missing. A sentence that needs an
 * argument the call does not have is an error (FR-APR-06): nobody is asked about something that cannot be described.
 */
export function fillSummary(template: string, input: JsonValue): string | Failure {
  let missing: string | undefined;
  const text = template.replace(PLACEHOLDER, (_, optional?: string, name?: string) => {
    if (optional !== undefined) return fillOptional(optional, input);
    const value = argument(input, name ?? "");
    if (value === undefined) missing ??= name;
    return value ?? "";
  });
  if (missing === undefined) return text.trim();
  return failure("E3211", {
    message: `The call cannot be described for approval: it has no argument "${missing}".`,
    advice: "Give the argument, or correct the summary in the tool's manifest.",
    details: { argument: `/${missing.replaceAll(".", "/")}` },
  });
}

function fillOptional(part: string, input: JsonValue): string {
  let complete = true;
  const text = part.replace(PLACEHOLDER, (_, __, name?: string) => {
    const value = argument(input, name ?? "");
    complete &&= value !== undefined;
    return value ?? "";
  });
  return complete ? text : "";
}

function argument(input: JsonValue, name: string): string | undefined {
  let at: JsonValue | undefined = input;
  for (const key of name.split(".")) {
    if (at === undefined || !isJsonObject(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  if (at === undefined || at === null) return undefined;
  const text = typeof at === "string" ? at : JSON.stringify(at);
  return text.length <= MAX_VALUE_CHARS ? text : `${text.slice(0, MAX_VALUE_CHARS)}…`;
}
