import { isDeepStrictEqual } from "node:util";
import type { JsonValue } from "@sallyport/protocol";
import { type ConfigKey, configKeys } from "../../config/config-keys.ts";
import type { ConfigReading } from "../../config/load.ts";
import { type Origin, valueAt } from "../../config/overrides.ts";
import { propertiesOf } from "../../config/schema-tree.ts";

/** What a key is set to, and who said so. */
export interface ConfigValue {
  key: string;
  value: unknown;
  default: JsonValue | undefined;
  origin: Origin;
}

/** Every key that holds a value of its own, set or not. */
export function configValues(read: Extract<ConfigReading, { ok: true }>): ConfigValue[] {
  return configKeys().flatMap((key) => settingOf(key, read));
}

function settingOf({ key, path, schema, default: preset }: ConfigKey, read: ConfigReading): ConfigValue[] {
  const isPart = propertiesOf(schema).length > 0;
  if (!path || isPart || !read.ok) return [];
  return [{ key, value: valueAt(read.config, path), default: preset, origin: read.originOf(path) }];
}

/** Whether somebody set it to something else than it would be anyway. */
export function isChanged({ value, default: preset, origin }: ConfigValue): boolean {
  return origin.kind !== "default" && !isDeepStrictEqual(value, preset);
}

/** Who said so, in a few words. */
export function originText(origin: Origin): string {
  if (origin.kind === "file") return `${origin.file}:${origin.line}:${origin.column}`;
  if (origin.kind === "environment") return `environment ${origin.variable}`;
  return origin.kind === "flag" ? `flag ${origin.flag}` : "default";
}

const MAX_CHARS = 60;

/** A value on one line. */
export function valueText(value: unknown): string {
  if (value === undefined) return "–";
  const text = JSON.stringify(value);
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
