import { type Issue, type JsonObject, nearestName } from "@sallyport/protocol";
import { expectedBy } from "./expectation.ts";
import type { Override } from "./overrides.ts";
import { valueAt } from "./overrides.ts";
import { choicesOf, configJsonSchema, namedOf, propertiesOf } from "./schema-tree.ts";
import { readYaml } from "./yaml-source.ts";

const PREFIX = "SALLYPORT__";
const MAX_CHARS = 64 * 1024;

/** Environment variables by name; undefined for one that is not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process. Settings are read from it here and nowhere else. */
export function processEnvironment(): Environment {
  return process.env;
}

/** What the environment says about the configuration. */
export interface EnvironmentReading {
  overrides: Override[];
  issues: Issue[];
}

/** The variable that sets a key: a double underscore between steps, a single one between the words of a step. */
export function variableOf(path: readonly string[]): string {
  return PREFIX + path.map((step) => step.replaceAll(/(?<=[a-z0-9])[A-Z]/g, "_$&").toUpperCase()).join("__");
}

/**
 * Reads every variable that begins with `SALLYPORT__`. A name that is no key, a value that is no YAML and two variables
 * for one key are issues: a setting that has no effect would be believed to have one.
 */
export function readEnvironment(environment: Environment, file: unknown): EnvironmentReading {
  const overrides: Override[] = [];
  const issues: Issue[] = [];
  for (const [variable, text] of Object.entries(environment)) {
    if (text === undefined || !variable.toUpperCase().startsWith(PREFIX)) continue;
    const found = readVariable(variable, text, file);
    if ("reason" in found) issues.push(found);
    else overrides.push(found);
  }
  // A whole part first, so that a single key within it counts more.
  overrides.sort((a, b) => a.path.length - b.path.length);
  return { overrides, issues: [...issues, ...repeated(overrides)] };
}

function readVariable(variable: string, text: string, file: unknown): Override | Issue {
  const target = findKey(variable, file);
  if ("reason" in target) return target;
  const { path, schema } = target;
  const value = readValue(variable, text, schema);
  return "reason" in value ? value : { path, value: value.value, origin: { kind: "environment", variable } };
}

interface Target {
  path: string[];
  schema: JsonObject;
}

function findKey(variable: string, file: unknown): Target | Issue {
  const path: string[] = [];
  let schema = configJsonSchema();
  for (const step of variable.slice(PREFIX.length).split("__")) {
    const known = knownSteps(schema, valueAt(file, path));
    const next = known.find(([name]) => plain(name) === plain(step));
    if (!next) return unknownStep(variable, step, { path, known: known.map(([name]) => name), schema });
    path.push(next[0]);
    schema = next[1];
  }
  return { path, schema };
}

/** Names of one's own choice can be told only from the file: a variable does not keep their spelling. */
function knownSteps(schema: JsonObject, inFile: unknown): [string, JsonObject][] {
  const named = namedOf(schema);
  if (!named) return choicesOf(schema).flatMap(propertiesOf);
  const names = typeof inFile === "object" && inFile !== null ? Object.keys(inFile) : [];
  return names.map((name) => [name, named]);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

function unknownStep(
  variable: string,
  step: string,
  { path, known, schema }: { path: string[]; known: string[]; schema: JsonObject },
): Issue {
  const where = path.length === 0 ? "the configuration" : path.join(".");
  if (known.length === 0 && !namedOf(schema)) {
    const reason = `${where} has no keys of its own: expected ${expectedBy(schema)} in ${variableOf(path)}`;
    return { path: variable, reason };
  }
  const near = nearestName(step.replaceAll("_", ""), known);
  const rest = variable.split("__").slice(path.length + 2);
  const suggestion = near
    ? `did you mean ${[variableOf([...path, near]), ...rest].join("__")}?`
    : `expected one of ${known.map((name) => variableOf([...path, name])).join(", ") || "the names in the file"}`;
  return { path: variable, reason: `${where} has no key "${step.toLowerCase()}"`, suggestion };
}

/** YAML, as it would stand in the file; but where text is expected, anything is text. */
function readValue(variable: string, text: string, schema: JsonObject): { value: unknown } | Issue {
  if (text.length > MAX_CHARS) return { path: variable, reason: `has more than ${MAX_CHARS} characters` };
  if (text.trim() === "") {
    const reason = `is set to nothing: expected ${expectedBy(schema)}`;
    return { path: variable, reason, suggestion: "unset it for the default" };
  }
  const isText = choicesOf(schema).every(({ type }) => type === "string");
  if (isText && !/^\s*["']/.test(text)) return { value: text };
  const read = readYaml(text, variable);
  if (!Array.isArray(read)) return { value: read.value };
  return { path: variable, reason: `is not YAML: ${read[0]?.reason ?? "it cannot be read"}` };
}

function repeated(overrides: readonly Override[]): Issue[] {
  const seen = new Map<string, string>();
  return overrides.flatMap(({ path, origin }) => {
    if (origin.kind !== "environment") return [];
    const key = path.join(".");
    const other = seen.get(key);
    seen.set(key, origin.variable);
    return other === undefined
      ? []
      : [{ path: origin.variable, reason: `sets ${key}, which ${other} sets too` }];
  });
}
