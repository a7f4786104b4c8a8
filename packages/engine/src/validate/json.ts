import { types } from "node:util";
import { type Failure, failure, type Issue, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { pointTo } from "../match/document.ts";

export interface JsonLimits {
  /** UTF-8 bytes of the value as JSON text, escapes not counted and every number counted as eight. */
  maxBytes: number;
  /** Containers inside containers; a scalar has depth 0, `{}` has 1. */
  maxDepth: number;
  /** Scalars and containers together. */
  maxValues: number;
  /** `__proto__` may be a property name; the copy has it as an own property. Only for schemas: values may not. */
  protoNames?: boolean;
}

export type ReadResult = { ok: true; value: JsonValue; bytes: number } | { ok: false; failure: Failure };

const MAX_ISSUES = 20;
const NUMBER_BYTES = 8;
const SHORT_TEXT = 64;
const REFUSED = Symbol("refused");
type Copied = JsonValue | typeof REFUSED;

/** Ends the walk: the value is over a limit, or there are enough issues. */
class Stop {
  readonly failure: Failure | undefined;
  constructor(failed?: Failure) {
    this.failure = failed;
  }
}

/**
 * Copies a value, taking only plain JSON, so that nothing the caller still holds is used afterwards (FR-REG-02).
 * Runs no getter and no proxy trap and never throws; a refusal names every wrong place up to twenty.
 */
export function readJson(value: unknown, limits: JsonLimits): ReadResult {
  const walk = new Walk(limits);
  try {
    const copied = walk.copy(value);
    if (copied !== REFUSED && walk.issues.length === 0) return { ok: true, value: copied, bytes: walk.bytes };
  } catch (thrown) {
    const refusal = refusalOf(thrown, walk);
    if (refusal) return { ok: false, failure: refusal };
  }
  return { ok: false, failure: failure("E3901", { issues: walk.issues }) };
}

function refusalOf(thrown: unknown, walk: Walk): Failure | undefined {
  if (thrown instanceof Stop) return thrown.failure;
  if (thrown instanceof RangeError) return tooLarge("is nested too deeply to be read", walk.limits.maxDepth);
  walk.issues.push({ path: walk.pointer(), reason: "cannot be read" });
  return undefined;
}

function tooLarge(what: string, limit: number): Failure {
  return failure("E3902", { message: `The value ${what} (limit ${limit})`, details: { limit } });
}

class Walk {
  readonly limits: JsonLimits;
  readonly issues: Issue[] = [];
  bytes = 0;
  #values = 0;
  readonly #path: (string | number)[] = [];
  readonly #ancestors: object[] = [];

  constructor(limits: JsonLimits) {
    this.limits = limits;
  }

  copy(value: unknown): Copied {
    this.#values += 1;
    if (this.#values > this.limits.maxValues) this.#tooMany();
    switch (typeof value) {
      case "string":
        return this.#text(value);
      case "number":
        if (!Number.isFinite(value)) return this.#refuse(`is ${value}, which JSON cannot hold`);
        this.#count(NUMBER_BYTES);
        return value === 0 ? 0 : value;
      case "boolean":
        this.#count(4);
        return value;
      case "object":
        if (value !== null) return this.#container(value);
        this.#count(4);
        return null;
      case "undefined":
        return this.#refuse("is undefined, which JSON cannot hold");
      default:
        return this.#refuse(`is a ${typeof value}, which JSON cannot hold`);
    }
  }

  pointer(): string {
    return this.#path.reduce<string>(pointTo, "");
  }

  #text(value: string): Copied {
    const length = utf8Length(value);
    if (length < 0) return this.#refuse("holds a lone surrogate, so it is not well-formed text");
    this.#count(length + 2);
    return value;
  }

  #container(value: object): Copied {
    if (types.isProxy(value)) return this.#refuse("is a proxy, not plain data");
    if (this.#ancestors.includes(value)) return this.#refuse("contains itself");
    const { maxDepth } = this.limits;
    if (this.#ancestors.length >= maxDepth) throw new Stop(tooLarge("is nested too deeply", maxDepth));
    this.#count(2);
    this.#ancestors.push(value);
    const copied = Array.isArray(value) ? this.#array(value) : this.#object(value);
    this.#ancestors.pop();
    return copied;
  }

  #array(items: unknown[]): Copied {
    if (Object.getPrototypeOf(items) !== Array.prototype) return this.#refuse("is an instance of a class");
    if (items.length > this.limits.maxValues) this.#tooMany();
    const copy: JsonValue[] = [];
    for (let index = 0; index < items.length; index += 1) {
      const member = this.#member(items, index);
      if (member !== REFUSED) copy.push(member);
    }
    this.#count(items.length);
    return copy;
  }

  #object(value: object): Copied {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null)
      return this.#refuse("is an instance of a class");
    const copy: JsonObject = {};
    for (const key of Reflect.ownKeys(value)) {
      if (typeof key === "symbol") this.#refuse("has a symbol as a property name");
      else this.#property(value, key, copy);
    }
    return copy;
  }

  #property(value: object, key: string, copy: JsonObject): void {
    const length = utf8Length(key);
    if (key === "__proto__" && !this.limits.protoNames)
      this.#refuseName(key, "is a property name that is not allowed");
    else if (length < 0) this.#refuseName(key, "is a property name with a lone surrogate");
    else {
      this.#count(length + 4);
      const member = this.#member(value, key);
      if (member !== REFUSED) setOwn(copy, key, member);
    }
  }

  /** Reads through the descriptor: a getter is somebody's code and is not run. */
  #member(holder: object, key: string | number): Copied {
    this.#path.push(key);
    const copied = this.#described(Object.getOwnPropertyDescriptor(holder, key));
    this.#path.pop();
    return copied;
  }

  #described(descriptor: PropertyDescriptor | undefined): Copied {
    if (descriptor === undefined) return this.#refuse("is a hole in the array");
    if (descriptor.get !== undefined || descriptor.set !== undefined)
      return this.#refuse("is computed by a getter");
    if (descriptor.enumerable !== true) return this.#refuse("is a hidden property");
    return this.copy(descriptor.value);
  }

  #refuseName(key: string, reason: string): void {
    this.#path.push(key.toWellFormed());
    this.#refuse(reason);
    this.#path.pop();
  }

  #refuse(reason: string): typeof REFUSED {
    this.issues.push({ path: this.pointer(), reason });
    if (this.issues.length >= MAX_ISSUES) throw new Stop();
    return REFUSED;
  }

  #count(bytes: number): void {
    this.bytes += bytes;
    const { maxBytes } = this.limits;
    if (this.bytes > maxBytes) throw new Stop(tooLarge("is larger than allowed, in bytes", maxBytes));
  }

  #tooMany(): never {
    throw new Stop(tooLarge("has too many parts", this.limits.maxValues));
  }
}

function setOwn(copy: JsonObject, key: string, value: JsonValue): void {
  // An assignment would set the prototype.
  if (key === "__proto__") {
    Object.defineProperty(copy, key, { value, enumerable: true, writable: true, configurable: true });
  } else copy[key] = value;
}

/** Bytes of a text in UTF-8, or -1 when it is not well-formed. Short ASCII, the usual case, needs no native call. */
function utf8Length(text: string): number {
  const { length } = text;
  if (length <= SHORT_TEXT && isAscii(text, length)) return length;
  return text.isWellFormed() ? Buffer.byteLength(text, "utf8") : -1;
}

function isAscii(text: string, length: number): boolean {
  for (let index = 0; index < length; index += 1) {
    if (text.charCodeAt(index) > 0x7f) return false;
  }
  return true;
}
