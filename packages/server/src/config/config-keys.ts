import type { JsonObject, JsonValue } from "@sallyport/protocol";
import { variableOf } from "./environment.ts";
import { choicesOf, configJsonSchema, itemsOf, namedOf, propertiesOf } from "./schema-tree.ts";

/** One key, with everything that is known of it beforehand. */
export interface ConfigKey {
  /** Such as `http.port`, `grants[].tools` or `credentials.<name>.host`. */
  key: string;
  schema: JsonObject;
  description: string;
  /** Undefined for a key without one. */
  default: JsonValue | undefined;
  /** The steps to it; undefined inside of a list or under a name of one's own choice. */
  path: readonly string[] | undefined;
  /** The environment variable that sets it; undefined where there is no `path`. */
  variable: string | undefined;
  /** Whether a reload applies it; otherwise it counts from the next start. */
  reloaded: boolean;
}

/** Every key, in the order of the schema, each before the ones inside it. */
export function configKeys(): ConfigKey[] {
  return below(configJsonSchema(), { key: "", path: [] });
}

interface At {
  key: string;
  path: readonly string[] | undefined;
}

function below(schema: JsonObject, at: At): ConfigKey[] {
  return choicesOf(schema)
    .flatMap(propertiesOf)
    .flatMap(([name, inner]) => {
      const key = at.key === "" ? name : `${at.key}.${name}`;
      return keysOf(inner, { key, path: at.path && [...at.path, name] });
    });
}

function keysOf(schema: JsonObject, at: At): ConfigKey[] {
  const { key, path } = at;
  const own: ConfigKey = {
    key,
    path,
    schema,
    description: String(schema.description ?? ""),
    default: schema.default,
    variable: path && variableOf(path),
    reloaded: isReloaded(key),
  };
  const items = itemsOf(schema);
  const named = namedOf(schema);
  if (items) return [own, ...below(items, { key: `${key}[]`, path: undefined })];
  if (named) return [own, ...below(named, { key: `${key}.<name>`, path: undefined })];
  return [own, ...below(schema, at)];
}

/** What `reload/` applies without a restart; everything below a key goes with it. */
export const RELOADED_KEYS = [
  "domain",
  "tools",
  "grants",
  "agents",
  "policy",
  "limits.concurrentCalls",
  "limits.concurrentCallsPerAgent",
  "limits.concurrentCallsPerTool",
  "limits.queueWaitSeconds",
  "toolLimits",
  "log.level",
] as const;

/** Whether a reload applies a key; otherwise a change of it counts from the next start. */
export function isReloaded(key: string): boolean {
  return RELOADED_KEYS.some(
    (name) => key === name || (/^[.[]/.test(key.slice(name.length)) && key.startsWith(name)),
  );
}
