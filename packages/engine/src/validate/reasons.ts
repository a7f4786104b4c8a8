import { type Issue, nearestName } from "@sallyport/protocol";
import type { ErrorObject } from "ajv/dist/2020.js";
import { pointTo } from "../match/document.ts";

const MAX_ISSUES = 100;

/**
 * Turns a validator's errors into issues a caller can act on; `more` counts those beyond the first hundred. Values are
 * never repeated: they may be secret.
 */
export function explainErrors(errors: readonly ErrorObject[]): { issues: Issue[]; more: number } {
  const issues = new Map<string, Issue>();
  for (const error of errors) {
    // `if` only says that then or else failed, and the errors of those say why.
    if (error.keyword === "if") continue;
    const issue = issueOf(error);
    issues.set(`${issue.path}\n${issue.reason}`, issue);
  }
  const all = [...issues.values()];
  return { issues: all.slice(0, MAX_ISSUES), more: Math.max(0, all.length - MAX_ISSUES) };
}

function issueOf(error: ErrorObject): Issue {
  const { instancePath, propertyName, keyword } = error;
  const explained = REASONS[keyword]?.(error) ?? { reason: `does not satisfy "${keyword}"` };
  const at = propertyName === undefined ? instancePath : pointTo(instancePath, propertyName);
  return {
    path: explained.below === undefined ? at : pointTo(at, explained.below),
    reason: propertyName === undefined ? explained.reason : `has a name that ${explained.reason}`,
    ...(explained.suggestion !== undefined && { suggestion: explained.suggestion }),
  };
}

/** One error in words; `below` names the property it is really about. */
interface Explained {
  reason: string;
  suggestion?: string;
  below?: string;
}

type Explain = (error: ErrorObject) => Explained;

const SHOWN_VALUES = 20;
const SHOWN_CHARACTERS = 60;

/** What each keyword of the dialect has to say when it is not satisfied. */
const REASONS: Record<string, Explain> = {
  type: typeMismatch,
  required: (error) => missing(String(error.params.missingProperty)),
  dependentRequired: (error) => missing(String(error.params.missingProperty), String(error.params.property)),
  dependencies: (error) => missing(String(error.params.missingProperty), String(error.params.property)),
  additionalProperties: (error) => unknownProperty(String(error.params.additionalProperty), error),
  unevaluatedProperties: (error) => unknownProperty(String(error.params.unevaluatedProperty), error),
  enum: notInEnum,
  const: (error) => ({ reason: `must be ${shown(error.schema)}`, suggestion: `Use ${shown(error.schema)}.` }),
  minimum: (error) => bound("must be at least", error),
  maximum: (error) => bound("must be at most", error),
  exclusiveMinimum: (error) => bound("must be more than", error),
  exclusiveMaximum: (error) => bound("must be less than", error),
  multipleOf: (error) => bound("must be a multiple of", error),
  minLength: (error) => size("must have at least", error, "characters"),
  maxLength: (error) => size("must have at most", error, "characters"),
  minItems: (error) => size("must have at least", error, "items"),
  maxItems: (error) => size("must have at most", error, "items"),
  minProperties: (error) => size("must have at least", error, "properties"),
  maxProperties: (error) => size("must have at most", error, "properties"),
  pattern: (error) => ({
    reason: `does not match the pattern ${cut(String(error.schema))}`,
    suggestion: "Write it in the form that the pattern and the description ask for.",
  }),
  format: (error) => ({
    reason: `is not a valid ${error.schema}`,
    suggestion: EXAMPLES[String(error.schema)] ?? `Use the format ${error.schema}.`,
  }),
  uniqueItems: (error) => ({
    reason: `has equal items at positions ${error.params.i} and ${error.params.j}`,
    suggestion: "Give each item once.",
  }),
  contains: (error) => ({
    reason: `must contain at least ${error.params.minContains}${atMost(error)} fitting items`,
    suggestion: "Compare the items with the schema under contains.",
  }),
  items: tooManyItems,
  unevaluatedItems: tooManyItems,
  propertyNames: (error) => ({
    reason: "is not an allowed property name",
    suggestion: "Rename the property.",
    below: String(error.params.propertyName),
  }),
  anyOf: () => NO_ALTERNATIVE,
  oneOf: (error) => (Array.isArray(error.params.passingSchemas) ? SEVERAL_ALTERNATIVES : NO_ALTERNATIVE),
  not: () => ({ reason: "is what the schema excludes", suggestion: "Give another value." }),
  "false schema": () => ({ reason: "is not allowed here", suggestion: "Leave it out." }),
};

const NO_ALTERNATIVE: Explained = {
  reason: "fits none of the allowed alternatives",
  suggestion: "Solve the other issues here and below for one of the alternatives.",
};
const SEVERAL_ALTERNATIVES: Explained = {
  reason: "fits more than one alternative where exactly one is allowed",
  suggestion: "Leave out what belongs to the other alternative.",
};

const EXAMPLES: Record<string, string> = {
  "date-time": "Use a date and time with a zone, such as 2026-01-31T09:30:00Z.",
  date: "Use a date such as 2026-01-31.",
  time: "Use a time with a zone, such as 09:30:00Z.",
  duration: "Use a duration such as P1DT2H.",
  email: "Use an address such as name@example.com.",
  uri: "Use a full address such as https://example.com/page.",
  uuid: "Use an id such as 6f1c2a8e-0b1d-4c5e-9f3a-2b7d8e9f0a1b.",
};

function missing(name: string, because?: string): Explained {
  const reason =
    because === undefined ? "is required but missing" : `is required when "${because}" is there, but missing`;
  return { reason, suggestion: `Add "${name}".`, below: name };
}

function unknownProperty(name: string, error: ErrorObject): Explained {
  const known = Object.keys(error.parentSchema?.properties ?? {});
  const close = nearestName(name, known);
  const list = known.length === 0 ? "No properties are allowed." : `Known properties: ${listed(known)}.`;
  const suggestion = close === undefined ? `Leave it out. ${list}` : `Did you mean "${close}"?`;
  return { reason: "is not a known property", suggestion, below: name };
}

function typeMismatch(error: ErrorObject): Explained {
  const expected = [error.schema].flat().join(" or ");
  return {
    reason: `must be ${expected}, but is ${typeOf(error.data)}`,
    suggestion: `Give ${withArticle(expected)}.`,
  };
}

function notInEnum(error: ErrorObject): Explained {
  const allowed = Array.isArray(error.schema) ? error.schema : [];
  const texts = allowed.filter((value) => typeof value === "string");
  const close = typeof error.data === "string" ? nearestName(error.data, texts) : undefined;
  const list = listed(allowed.slice(0, SHOWN_VALUES + 1).map(shown));
  return {
    reason: "is not one of the allowed values",
    suggestion: close === undefined ? `Use one of: ${list}.` : `Did you mean "${close}"? Allowed: ${list}.`,
  };
}

function bound(words: string, error: ErrorObject): Explained {
  return { reason: `${words} ${error.schema}`, suggestion: "Choose a number within the bounds." };
}

function size(words: string, error: ErrorObject, unit: string): Explained {
  return { reason: `${words} ${error.schema} ${unit}`, suggestion: `Change the number of ${unit}.` };
}

function tooManyItems(error: ErrorObject): Explained {
  const limit = error.params.limit ?? error.params.len;
  return { reason: `must not have more than ${limit} items`, suggestion: "Leave out the items beyond that." };
}

function atMost(error: ErrorObject): string {
  return error.params.maxContains === undefined ? "" : ` and at most ${error.params.maxContains}`;
}

function listed(names: string[]): string {
  const shownNames = names.slice(0, SHOWN_VALUES).map(cut).join(", ");
  return names.length > SHOWN_VALUES ? `${shownNames}, …` : shownNames;
}

function shown(value: unknown): string {
  return cut(JSON.stringify(value) ?? "nothing");
}

function cut(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : text;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function withArticle(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : type === "null" ? type : `a ${type}`;
}
