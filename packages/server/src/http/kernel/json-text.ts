import { countNames, type Failure, failure, type JsonValue } from "@sallyport/protocol";
import { jsonFault } from "./json-fault.ts";

export interface JsonBounds {
  /** Containers inside containers; a scalar has depth 0, `{}` has 1. */
  maxDepth: number;
  /** Scalars and containers together. */
  maxValues: number;
}

export type JsonReading = { ok: true; value: JsonValue } | { ok: false; failure: Failure };

/** Where a text cannot be taken, and why. */
interface Fault {
  path: string;
  reason: string;
  /** Past a bound rather than wrong. */
  tooMuch?: boolean;
}

/**
 * Reads JSON so that no two readers can understand it differently: names that stand twice, numbers that would change,
 * half characters and names that mean something to the language are refused with E3903, what is too deep or too much
 * with E3902. Parses once; never throws.
 */
export function readJsonText(text: string, bounds: JsonBounds): JsonReading {
  const parsed = parse(text);
  if (!parsed) return refused({ path: "", reason: notJson(text) });
  const walk = new Walk(bounds, { mayHoldHalves: text.includes("\\u") });
  const fault =
    walk.look(parsed.value, 0) ??
    (walk.names === countNames(text) ? undefined : { path: "", reason: "names a member twice" }) ??
    (walk.hasLargeInteger ? changedInteger(text) : undefined);
  return fault ? refused(fault) : { ok: true, value: parsed.value };
}

function notJson(text: string): string {
  const place = jsonFault(text);
  return place ? `is not JSON: see line ${place.line}, column ${place.column}` : "is not JSON";
}

function parse(text: string): { value: JsonValue } | undefined {
  try {
    return { value: JSON.parse(text) as JsonValue };
  } catch {
    return undefined;
  }
}

function refused({ path, reason, tooMuch }: Fault): JsonReading {
  const where = path === "" ? "The body" : `The body at ${path}`;
  const message = `${where} ${reason}.`;
  if (tooMuch) return { ok: false, failure: failure("E3902", { message }) };
  return { ok: false, failure: failure("E3903", { message, issues: [{ path, reason }] }) };
}

/** Looks at every part of a value fresh from the parser, so every name it has is its own. */
class Walk {
  names = 0;
  hasLargeInteger = false;
  #values = 0;
  readonly #bounds: JsonBounds;
  readonly #mayHoldHalves: boolean;

  constructor(bounds: JsonBounds, { mayHoldHalves }: { mayHoldHalves: boolean }) {
    this.#bounds = bounds;
    this.#mayHoldHalves = mayHoldHalves;
  }

  look(value: JsonValue, depth: number): Fault | undefined {
    this.#values += 1;
    if (this.#values > this.#bounds.maxValues) return this.#tooMany();
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "number") return this.#number(value);
    if (typeof value !== "object" || value === null) return undefined;
    if (depth >= this.#bounds.maxDepth) return this.#tooDeep();
    return Array.isArray(value) ? this.#items(value, depth + 1) : this.#members(value, depth + 1);
  }

  #items(items: JsonValue[], depth: number): Fault | undefined {
    let index = 0;
    for (const item of items) {
      const fault = this.look(item, depth);
      if (fault) return { ...fault, path: `/${index}${fault.path}` };
      index += 1;
    }
    return undefined;
  }

  #members(value: Record<string, JsonValue>, depth: number): Fault | undefined {
    for (const name in value) {
      this.names += 1;
      const member = value[name] ?? null;
      const fault = this.#name(name, member) ?? this.look(member, depth);
      if (fault) return { ...fault, path: `/${pointerPart(name)}${fault.path}` };
    }
    return undefined;
  }

  /** A copy that is merged carelessly somewhere behind this door must not reach the language's own objects. */
  #name(name: string, member: JsonValue): Fault | undefined {
    const reaches = typeof member === "object" && member !== null && Object.hasOwn(member, "prototype");
    if (name === "__proto__" || (name === "constructor" && reaches))
      return { path: "", reason: "has a name that is not allowed" };
    return this.#text(name);
  }

  #text(value: string): Fault | undefined {
    if (!this.#mayHoldHalves || value.isWellFormed()) return undefined;
    return { path: "", reason: "holds half a character (a lone surrogate)" };
  }

  #number(value: number): Fault | undefined {
    if (!Number.isFinite(value)) return { path: "", reason: "is a number too large to be held" };
    if (!Number.isSafeInteger(value) && Number.isInteger(value)) this.hasLargeInteger = true;
    return undefined;
  }

  #tooDeep(): Fault {
    return { path: "", reason: `is nested deeper than ${this.#bounds.maxDepth} levels`, tooMuch: true };
  }

  #tooMany(): Fault {
    const reason = `is beyond the ${this.#bounds.maxValues} values a request may hold`;
    return { path: "", reason, tooMuch: true };
  }
}

function pointerPart(name: string): string {
  return name.slice(0, 64).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Seldom needed, so it may parse again: an amount or an id with other last digits is another amount or id. */
function changedInteger(text: string): Fault | undefined {
  let hasChanged = false;
  JSON.parse(text, (...[, value, context]: unknown[]) => {
    if (typeof value === "number" && changes(value, sourceOf(context))) hasChanged = true;
    return value;
  });
  const reason = "holds a whole number with more digits than a number keeps; send it as text";
  return hasChanged ? { path: "", reason } : undefined;
}

/** Whether writing the number again would give other digits than it was read from. */
function changes(value: number, source: string): boolean {
  return /^-?\d+$/.test(source) && source !== String(value) && BigInt(source) !== BigInt(value);
}

function sourceOf(context: unknown): string {
  const given = typeof context === "object" && context !== null && "source" in context ? context.source : "";
  return typeof given === "string" ? given : "";
}
