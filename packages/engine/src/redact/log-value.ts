import { types } from "node:util";
import type { JsonValue } from "@sallyport/protocol";

/** How much of a value is logged. */
interface LogLimits {
  /** Containers inside containers. */
  depth: number;
  /** Values in all. */
  values: number;
}

/** Deeper values could not be written as JSON by everyone who reads them. */
const LIMITS: LogLimits = { depth: 64, values: 50_000 };

/**
 * Any value as plain JSON: a tree, bounded, with what JSON has no word for described in brackets. Total: a value that
 * cannot be read is described as that. Runs no getter; of the value's own code only `toJSON`.
 */
export function toLogValue(value: unknown, limits: LogLimits = LIMITS): JsonValue {
  return new LogCopy(limits).copy(value);
}

const CUT = "[CUT]";
const UNREADABLE = "[UNREADABLE]";

class LogCopy {
  readonly #depth: number;
  #left: number;
  readonly #ancestors: object[] = [];

  constructor({ depth, values }: LogLimits) {
    this.#depth = depth;
    this.#left = values;
  }

  copy(value: unknown): JsonValue {
    this.#left -= 1;
    if (this.#left < 0) return CUT;
    if (typeof value === "string") return value.toWellFormed();
    if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
    if (typeof value === "boolean") return value;
    if (value === undefined || value === null) return null;
    if (typeof value === "object") return this.#object(value);
    return typeof value === "function" ? "[Function]" : String(value).toWellFormed();
  }

  /** Reading a strange object may throw; what is on record then is that it could not be read. */
  #object(value: object): JsonValue {
    if (types.isProxy(value)) return "[Proxy]";
    if (this.#ancestors.includes(value)) return "[CIRCULAR]";
    if (this.#ancestors.length >= this.#depth) return "[TOO DEEP]";
    const depth = this.#ancestors.push(value);
    try {
      return this.#known(value) ?? this.#plain(value);
    } catch {
      return UNREADABLE;
    } finally {
      this.#ancestors.length = depth - 1;
    }
  }

  #known(value: object): JsonValue | undefined {
    if (Array.isArray(value))
      return this.#iterated(
        Array.prototype.keys.call(value),
        (at) => this.#own(value, at) ?? this.copy(null),
      );
    if (types.isNativeError(value) || value instanceof Error) return this.#error(value);
    if (types.isMap(value)) return this.#map(Map.prototype.entries.call(value));
    if (types.isSet(value)) return this.#iterated(Set.prototype.values.call(value), this.copy.bind(this));
    if (types.isDate(value)) return dateText(value);
    if (types.isBoxedPrimitive(value)) return this.copy(value.valueOf());
    return opaque(value);
  }

  #plain(value: object): JsonValue {
    const toJson: unknown = Reflect.get(value, "toJSON");
    if (typeof toJson !== "function") return this.#fields(value, Object.keys(value));
    const json: unknown = Reflect.apply(toJson, value, []);
    return json === value ? this.#fields(value, Object.keys(value)) : this.copy(json);
  }

  #fields(value: object, names: readonly string[]): JsonValue {
    const entries: [string, JsonValue][] = [];
    for (const name of names) {
      const field = this.#own(value, name);
      if (field === undefined) continue;
      entries.push([name.toWellFormed(), field]);
      if (this.#left <= 0) break;
    }
    return Object.fromEntries(entries);
  }

  /** Undefined when there is no value. */
  #own(value: object, name: string | number): JsonValue | undefined {
    const property = Object.getOwnPropertyDescriptor(value, name);
    if (property?.get) return "[Getter]";
    return property?.value === undefined ? undefined : this.copy(property.value);
  }

  #iterated<Item>(values: Iterable<Item>, change: (item: Item) => JsonValue): JsonValue[] {
    const items: JsonValue[] = [];
    for (const item of values) {
      items.push(change(item));
      if (this.#left <= 0) return [...items, CUT];
    }
    return items;
  }

  /** With its keys as names where they can be, so that a secret one is seen as such. */
  #map(entries: Iterable<[unknown, unknown]>): JsonValue {
    const pairs = this.#iterated(entries, ([key, value]) => [this.copy(key), this.copy(value)]);
    const named = pairs.every((pair) => Array.isArray(pair) && typeof pair[0] === "string");
    return named ? Object.fromEntries(pairs as [string, JsonValue][]) : pairs;
  }

  #error(error: Error): JsonValue {
    const own = Object.keys(error).filter((name) => !TOLD.includes(name));
    const told = TOLD.map((name): [string, unknown] => [name, Reflect.get(error, name)]);
    const entries = told
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, JsonValue] => [name, this.copy(value)]);
    return { ...Object.fromEntries(entries), ...Object(this.#fields(error, own)) };
  }
}

/** What is told of an error, though an object would not list it. */
const TOLD = ["name", "message", "code", "stack", "cause", "errors"];

function dateText(date: Date): string {
  const time = Date.prototype.getTime.call(date);
  return Number.isNaN(time) ? "Invalid Date" : new Date(time).toISOString();
}

/** What has no content worth a log, or one that must not be in it: bytes may be a key. */
function opaque(value: object): string | undefined {
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (types.isAnyArrayBuffer(value)) return `[${value.byteLength} bytes]`;
  if (types.isRegExp(value)) return String(value);
  if (types.isPromise(value)) return "[Promise]";
  return types.isWeakMap(value) || types.isWeakSet(value) ? "[Weak]" : undefined;
}
