import { type Issue, isJsonObject, type JsonObject, nearestName } from "@sallyport/protocol";
import type { z } from "zod";
import { expectedBy, foundText, remedyFor } from "./expectation.ts";
import { valueAt } from "./overrides.ts";
import { choicesOf, namesAt, schemasAt } from "./schema-tree.ts";

type ZodIssue = z.core.$ZodIssue;

/** A configuration as it was put together, before it was found to be wrong. */
export interface Judged {
  value: unknown;
  /** File, line and column of a place, or the variable or flag it comes from. */
  locate(path: readonly PropertyKey[]): string;
}

/** A place where the configuration is not what it should be. */
type Wrong =
  | { kind: "unknown" | "value" | "name"; path: PropertyKey[] }
  /** Wrong by a rule of its own, which says it in its own words. */
  | { kind: "rule"; path: PropertyKey[]; says: string };

const MAX_ISSUES = 50;

/** Every wrong place, in our words: what was expected, what was found, and what was probably meant. */
export function issuesOf(issues: readonly ZodIssue[], judged: Judged): Issue[] {
  const wrong = issues.flatMap(wrongPlaces);
  const told = wrong.slice(0, MAX_ISSUES).map((place) => describe(place, judged));
  const more = wrong.length - told.length;
  return more > 0
    ? [...inOrder(told), { path: judged.locate([]), reason: `${more} more places are wrong` }]
    : inOrder(told);
}

/** As they stand in the file, which is how a person goes through it. */
function inOrder(issues: readonly Issue[]): Issue[] {
  const lineOf = ({ path }: Issue) => Number(/:(\d+):\d+$/.exec(path)?.[1] ?? Number.POSITIVE_INFINITY);
  return issues
    .map((issue) => ({ issue, line: lineOf(issue) }))
    .sort((a, b) => (a.line === b.line ? 0 : a.line - b.line))
    .map(({ issue }) => issue);
}

/** A place as it is written, such as `grants[0].tools`. */
export function keyText(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "");
}

function wrongPlaces(issue: ZodIssue): Wrong[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ kind: "unknown", path: [...issue.path, key] }));
  }
  if (issue.code === "custom") return [{ kind: "rule", path: issue.path, says: issue.message }];
  if (issue.code === "invalid_key") return [{ kind: "name", path: issue.path }];
  return issue.code === "invalid_union" ? wrongChoice(issue) : [{ kind: "value", path: issue.path }];
}

/** Of several choices only those of the right sort say what is wrong; a key that none of them knows says most. */
function wrongChoice({ path, errors }: Extract<ZodIssue, { code: "invalid_union" }>): Wrong[] {
  const rightSort = errors.filter(
    (issues) => !issues.some((issue) => issue.code === "invalid_type" && issue.path.length === 0),
  );
  const below = (issues: readonly ZodIssue[]): Wrong[] =>
    issues.flatMap(wrongPlaces).map((wrong) => ({ ...wrong, path: [...path, ...wrong.path] }));
  const [only, ...others] = rightSort;
  if (only && others.length === 0) return below(only);
  const unknown = below(only ?? []).filter((wrong) => wrong.kind === "unknown" && !isKnown(wrong.path));
  return unknown.length > 0 ? unknown : [{ kind: "value", path }];
}

function isKnown(path: readonly PropertyKey[]): boolean {
  return namesAt(path.slice(0, -1)).includes(String(path.at(-1)));
}

function describe(wrong: Wrong, judged: Judged): Issue {
  const { path } = wrong;
  const place = { path: judged.locate(path) };
  if (wrong.kind === "unknown") {
    return { ...place, reason: `unknown key "${keyText(path)}"`, suggestion: nearestKey(path) };
  }
  if (wrong.kind === "rule") return { ...place, reason: `${keyText(path)} ${wrong.says}` };
  if (wrong.kind === "name") return { ...place, reason: nameReason(path) };
  const value = valueAt(judged.value, path);
  const [schema = {}, ...others] = schemasAt(path);
  const expected = expectedBy(others.length > 0 ? { anyOf: [schema, ...others] } : schema);
  const name = path.length === 0 ? "the configuration" : keyText(path);
  if (value === undefined) return { ...place, reason: `${name} is missing: expected ${expected}` };
  const found = foundText(value, String(path.at(-1) ?? ""));
  const single = others.length === 0 ? schema : oneForWords([schema, ...others], value);
  const remedy = single && choicesOf(single).length === 1 ? remedyFor(single, value) : undefined;
  return {
    ...place,
    reason: `${name}: expected ${expected}, found ${found}`,
    ...(remedy !== undefined && { suggestion: remedy }),
  };
}

/** Of several choices, the one that a word such as `off` was meant for. */
function oneForWords(choices: readonly JsonObject[], value: unknown): JsonObject | undefined {
  return typeof value === "string" ? choices.find(({ type }) => type === "boolean") : undefined;
}

function nameReason(path: readonly PropertyKey[]): string {
  const above = path.slice(0, -1);
  const names = schemasAt(above).flatMap(({ propertyNames }) =>
    isJsonObject(propertyNames) ? [expectedBy(propertyNames)] : [],
  );
  return `"${String(path.at(-1))}" cannot stand under ${keyText(above)}: expected ${names.join(" or ")}`;
}

function nearestKey(path: readonly PropertyKey[]): string {
  const known = namesAt(path.slice(0, -1));
  const name = nearestName(String(path.at(-1)), known);
  return name ? `did you mean "${name}"?` : `known keys: ${known.join(", ")}`;
}
