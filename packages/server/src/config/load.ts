import { readFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import {
  failure,
  type Issue,
  isJsonObject,
  type JsonValue,
  nearestName,
  SallyportError,
} from "@sallyport/protocol";
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { type Config, configSchema } from "./schema.ts";

export const CONFIG_FILE = "sallyport.yaml";

/** A configuration that is complete and fixed; paths are absolute. */
export interface LoadedConfig extends Config {
  /** Undefined when there is no file and everything is a default. */
  readonly file: string | undefined;
  readonly folder: string;
  readonly stateFolder: string;
}

interface Where {
  file?: string | undefined;
  stateDir?: string | undefined;
  cwd: string;
}

/** Reads the configuration. Throws E3919 with file, line and what was expected when it is wrong. */
export function loadConfig({ file, stateDir, cwd }: Where): LoadedConfig {
  const path = resolve(cwd, file ?? CONFIG_FILE);
  const text = read(path, file !== undefined);
  const config = text === undefined ? configSchema.parse({}) : parse(text, path);
  const folder = text === undefined ? cwd : dirname(path);
  const state = stateDir === undefined ? under(folder, config.state) : resolve(cwd, stateDir);
  return Object.freeze({
    ...config,
    file: text === undefined ? undefined : path,
    folder,
    stateFolder: state,
  });
}

function under(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

function read(path: string, required: boolean): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (missing && !required) return undefined;
    const message = missing
      ? `There is no configuration file ${path}.`
      : `${path} cannot be read: ${String(error)}`;
    throw new SallyportError(failure("E3919", { message }));
  }
}

function parse(text: string, path: string): Config {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [syntax] = document.errors;
  if (syntax) throw wrong([{ path: `${path}:${lines.linePos(syntax.pos[0]).line}`, reason: syntax.message }]);
  const parsed = configSchema.safeParse(plainValue(document, path) ?? {});
  if (parsed.success) return parsed.data;
  throw wrong(parsed.error.issues.flatMap((issue) => describe(issue, { document, lines, path })));
}

/** Aliases are resolved here; unknown ones, and bombs, are wrong configurations. */
function plainValue(document: Document, path: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw wrong([{ path: `${path}:1`, reason: error instanceof Error ? error.message : String(error) }]);
  }
}

interface Source {
  document: Document;
  lines: LineCounter;
  path: string;
}

function describe(issue: z.core.$ZodIssue, source: Source): Issue[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: `${source.path}:${lineOf([...issue.path, key], source)}`,
      reason: `unknown key "${[...issue.path, key].join(".")}"`,
      ...nearest(key, knownKeys(issue.path)),
    }));
  }
  const where = issue.path.join(".") || "the file";
  return [{ path: `${source.path}:${lineOf(issue.path, source)}`, reason: `${where}: ${issue.message}` }];
}

/** The line of the key itself where there is one, else of the nearest thing around it. */
function lineOf(path: PropertyKey[], { document, lines }: Source): number {
  for (let length = path.length; length > 0; length -= 1) {
    const offset = keyOffset(document, path.slice(0, length));
    if (offset !== undefined) return lines.linePos(offset).line;
  }
  return 1;
}

function keyOffset(document: Document, path: PropertyKey[]): number | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const key = path.at(-1);
  if (isMap(parent)) {
    const pair = parent.items.find((item) => isScalar(item.key) && item.key.value === key);
    return isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
  }
  const item = isSeq(parent) ? parent.items[Number(key)] : undefined;
  return isNode(item) ? item.range?.[0] : undefined;
}

function nearest(key: string, known: string[]): Pick<Issue, "suggestion"> {
  const name = nearestName(key, known);
  return { suggestion: name ? `did you mean "${name}"?` : `known keys: ${known.join(", ")}` };
}

function knownKeys(path: PropertyKey[]): string[] {
  let schema = z.toJSONSchema(configSchema, { io: "input" }) as JsonValue;
  for (const step of path) {
    if (!isJsonObject(schema)) return [];
    const properties = isJsonObject(schema.properties) ? schema.properties : {};
    schema = (typeof step === "number" ? schema.items : properties[String(step)]) ?? null;
  }
  return isJsonObject(schema) && isJsonObject(schema.properties) ? Object.keys(schema.properties) : [];
}

function wrong(issues: Issue[]): SallyportError {
  const places = issues.length === 1 ? "one place" : `${issues.length} places`;
  return new SallyportError(
    failure("E3919", { message: `The configuration is wrong in ${places}.`, issues }),
  );
}
