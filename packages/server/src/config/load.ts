import { closeSync, openSync, readSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { deepFreeze, type Failure, failure, type Issue, SallyportError } from "@sallyport/protocol";
import { isLoopback } from "../http/kernel/loopback.ts";
import { type Environment, processEnvironment, readEnvironment } from "./environment.ts";
import { type Origin, type Override, overlay, overrideOf } from "./overrides.ts";
import { type Config, configSchema } from "./schema.ts";
import { issuesOf } from "./schema-issues.ts";
import { readYaml, type YamlSource } from "./yaml-source.ts";

const MAX_BYTES = 1024 * 1024;

/** The text of a configuration file; undefined when there is none; E3919 when it is too large, no text, or unreadable. */
function readConfigFile(path: string): string | Failure | undefined {
  try {
    const bytes = readAtMost(path, MAX_BYTES + 1);
    if (bytes.length > MAX_BYTES) return unusable(path, `is larger than ${MAX_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    if (error instanceof TypeError) return unusable(path, "is not text in UTF-8");
    return unusable(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Never more than was asked for, whatever the file says about its size. */
export function readAtMost(path: string, most: number): Uint8Array {
  const buffer = new Uint8Array(most);
  const handle = openSync(path, "r");
  try {
    let length = 0;
    for (let read = 1; read > 0 && length < most; length += read) {
      read = readSync(handle, buffer, length, most - length, null);
    }
    return buffer.subarray(0, length);
  } finally {
    closeSync(handle);
  }
}

function unusable(path: string, why: string): Failure {
  return failure("E3919", {
    message: `The configuration file ${path} ${why}.`,
    advice: "Name a sallyport.yaml with --config, or make one with `sallyport init`.",
  });
}

export const CONFIG_FILE = "sallyport.yaml";

/** A configuration that is complete, checked and frozen. Paths start from `folder` where they are not absolute. */
export interface LoadedConfig extends Config {
  /** Undefined when there is no file and everything is a default. */
  readonly file: string | undefined;
  readonly folder: string;
  /** Absolute. */
  readonly stateFolder: string;
  /** The paths of `tls` are absolute, and `metrics` is decided. */
  readonly http: Config["http"] & { metrics: "open" | "operator" };
  /** Where it was read, to read it again. */
  readonly place: ConfigPlace;
}

/** Where a configuration comes from: defaults, then the file, then the environment, then flags, the last one counting. */
export interface ConfigPlace {
  file?: string | undefined;
  stateDir?: string | undefined;
  cwd: string;
  /** The process's own when left out. */
  environment?: Environment;
  flags?: readonly Override[];
}

/** What was read: a configuration, or everything that is wrong with it. */
export type ConfigReading = { file: string | undefined; originOf(path: readonly PropertyKey[]): Origin } & (
  | { ok: true; config: LoadedConfig }
  | { ok: false; issues: Issue[] }
);

/** Reads the configuration. Throws E3919 with file, line and what was expected when it is wrong. */
export function loadConfig(place: ConfigPlace): LoadedConfig {
  const read = readConfig(place);
  if (read.ok) return read.config;
  throw wrongConfig(read.issues);
}

/** E3919 with every wrong place. */
export function wrongConfig(issues: Issue[]): SallyportError {
  const places = issues.length === 1 ? "one place" : `${issues.length} places`;
  return new SallyportError(
    failure("E3919", { message: `The configuration is wrong in ${places}.`, issues }),
  );
}

/** Reads the configuration without judging: what is wrong is in the answer. Throws E3919 only when there is no file to read. */
export function readConfig(place: ConfigPlace): ConfigReading {
  const path = resolve(place.cwd, place.file ?? CONFIG_FILE);
  const text = readConfigFile(path);
  if (typeof text === "object") throw new SallyportError(text);
  if (text === undefined && place.file !== undefined) throw missingConfig(path);
  const file = text === undefined ? undefined : path;
  const yaml = readYaml(text ?? "", path);
  if (Array.isArray(yaml)) return { ok: false, file, issues: yaml, originOf: () => ({ kind: "default" }) };
  return judge(place, { yaml, file });
}

/** E3919 for a file that is not there. */
export function missingConfig(path: string): SallyportError {
  const advice = "Name one that exists with --config, or make one with `sallyport init`.";
  return new SallyportError(failure("E3919", { message: `There is no configuration file ${path}.`, advice }));
}

function judge(
  place: ConfigPlace,
  { yaml, file }: { yaml: YamlSource; file: string | undefined },
): ConfigReading {
  const environment = readEnvironment(place.environment ?? processEnvironment(), yaml.value);
  const overrides = [...environment.overrides, ...(place.flags ?? [])];
  const value = overlay(yaml.value ?? {}, overrides);
  const originOf = (path: readonly PropertyKey[]) => originAt(path, { yaml, file, overrides });
  const parsed = configSchema.safeParse(value);
  const locate = (path: readonly PropertyKey[]) => placeText(path, { yaml, file, overrides });
  const wrong = parsed.success ? [] : issuesOf(parsed.error.issues, { value, locate });
  const issues = [...wrong, ...environment.issues];
  if (!parsed.success || issues.length > 0) return { ok: false, file, issues, originOf };
  return { ok: true, file, originOf, config: complete(parsed.data, place, file) };
}

interface Sources {
  yaml: YamlSource;
  file: string | undefined;
  overrides: readonly Override[];
}

function originAt(path: readonly PropertyKey[], { yaml, file, overrides }: Sources): Origin {
  const override = overrideOf(path, overrides);
  if (override) return override.origin;
  return file !== undefined && yaml.has(path)
    ? { kind: "file", file, ...yaml.find(path) }
    : { kind: "default" };
}

/** Also for a place that is not there, the one around it where it should be. */
function placeText(path: readonly PropertyKey[], { yaml, file, overrides }: Sources): string {
  const override = overrideOf(path, overrides);
  if (override) return override.origin.kind === "flag" ? override.origin.flag : override.origin.variable;
  const { line, column } = yaml.find(path);
  return `${file ?? CONFIG_FILE}:${line}:${column}`;
}

function complete(config: Config, place: ConfigPlace, file: string | undefined): LoadedConfig {
  // A sandbox shows folders where they really are, so modules must be named by where they are too.
  const folder = file === undefined ? place.cwd : realpathSync(dirname(file));
  const { http, webhooks } = config;
  const { tls } = http;
  const at = (path: string) => (isAbsolute(path) ? path : join(folder, path));
  return deepFreeze({
    ...config,
    http: {
      ...http,
      ...(tls && { tls: { cert: at(tls.cert), key: at(tls.key) } }),
      metrics: http.metrics ?? (isLoopback(http.host) && http.callers === "open" ? "open" : "operator"),
    },
    webhooks: {
      ...webhooks,
      ...(webhooks.secret && "file" in webhooks.secret && { secret: { file: at(webhooks.secret.file) } }),
    },
    file,
    folder,
    ...(config.domain !== undefined && { domain: at(config.domain) }),
    stateFolder: place.stateDir === undefined ? at(config.state) : resolve(place.cwd, place.stateDir),
    // Frozen here and no further: the environment in it is not ours.
    place: Object.freeze({ ...place }),
  });
}
