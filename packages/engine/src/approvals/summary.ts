import { type Failure, failure, isJsonObject, type JsonValue } from "@sallyport/protocol";
import { forDecision } from "../redact/redact.ts";
import { describeCall, summaryOf } from "../redact/summary.ts";
import type { ResolvedTool } from "../registry/index.ts";

/**
 * One line about the call for the person: the tool's own, or one made from its arguments. The tool describes the
 * checked arguments it would run with (FR-APR-01). Where it fails to, nobody is asked and the call ends (FR-APR-06).
 */
export function summarise(tool: ResolvedTool, input: JsonValue): string | Failure {
  const { implementation, operationName: operation, manifest } = tool;
  const own = implementation?.summaries?.[operation];
  if (own) return ownSummary(own, input);
  const template = tool.operation.summary;
  if (template === undefined) return describeCall({ tool: manifest.id, operation, input });
  const filled = fillSummary(template, forDecision.redact(input));
  return typeof filled === "string" ? summaryOf(filled) : filled;
}

function ownSummary(describe: (input: JsonValue) => string, input: JsonValue): string | Failure {
  try {
    const text: unknown = describe(structuredClone(input));
    if (typeof text === "string") return summaryOf(text);
  } catch {
    // The error's message may hold what must not be shown; that it failed is all there is to say.
  }
  const message = "The tool could not describe the call, so nobody can be asked about it.";
  return failure("E3211", { message, advice: "Correct the summary function of the tool." });
}

const PLACEHOLDER = /\[([^[\]]*)\]|\{([^{}]+)\}/g;
const MAX_VALUE_CHARS = 120;

/**
 * Fills a tool's own sentence about a call from the checked arguments: `{path}` stands for an argument (dots go
 * deeper), and a part in square brackets is left out when one of its arguments is missing. A sentence that needs an
 * argument the call does not have is an error (FR-APR-06): nobody is asked about something that cannot be described.
 */
export function fillSummary(template: string, input: JsonValue): string | Failure {
  const { text, missing } = fill(template, input);
  if (missing === undefined) return text.trim();
  return failure("E3211", {
    message: `The call cannot be described for approval: it has no argument "${missing}".`,
    advice: "Give the argument, or correct the summary in the tool's manifest.",
    details: { argument: `/${missing.replaceAll(".", "/")}` },
  });
}

/** The filled text, and the first argument that it needs and the call does not have. */
function fill(template: string, input: JsonValue): { text: string; missing: string | undefined } {
  let missing: string | undefined;
  const text = template.replace(PLACEHOLDER, (_, optional: string | undefined, name = "") => {
    if (optional !== undefined) {
      const part = fill(optional, input);
      return part.missing === undefined ? part.text : "";
    }
    const value = argument(input, name);
    if (value === undefined) missing ??= name;
    return value ?? "";
  });
  return { text, missing };
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
