import type { Issue, JsonObject, JsonValue } from "@sallyport/protocol";

const MAX_ITEMS = 64;
/** The last second of the year 9999; what is beyond it was given in milliseconds. */
const MAX_SECONDS = 253_402_300_799;

/**
 * Reads claims one by one and notes each that is missing or not what it should be, so that all of them are named at
 * once. After a note the value it gave is a stand-in: look at `issues` before using any.
 */
export class ClaimReader {
  readonly issues: Issue[] = [];
  readonly #claims: JsonObject;
  readonly #path: string;

  constructor(claims: JsonObject, path = "") {
    this.#claims = claims;
    this.#path = path;
  }

  get(name: string): JsonValue | undefined {
    return Object.hasOwn(this.#claims, name) ? this.#claims[name] : undefined;
  }

  text(name: string, maxLength = 256): string {
    const value = this.get(name);
    if (isText(value, maxLength)) return value;
    this.note(name, value, `is not a text of 1 to ${maxLength} characters`);
    return "";
  }

  /** A NumericDate, in milliseconds. */
  date(name: string): number {
    const value = this.get(name);
    const at = dateOf(value);
    if (at !== undefined) return at;
    this.note(name, value, "is not a number of seconds since 1970");
    return 0;
  }

  texts(name: string, maxLength = 256): string[] {
    const value = this.get(name);
    if (isList(value) && value.every((item) => isText(item, maxLength))) return value;
    this.note(name, value, `is not a list of at most ${MAX_ITEMS} texts of 1 to ${maxLength} characters`);
    return [];
  }

  ports(name: string): number[] {
    const value = this.get(name);
    if (isList(value) && value.every(isPort)) return value;
    this.note(name, value, `is not a list of at most ${MAX_ITEMS} ports from 1 to 65535`);
    return [];
  }

  note(name: string, value: JsonValue | undefined, reason: string): void {
    this.issues.push({
      path: `${this.#path}/${name}`,
      reason: value === undefined ? "is missing" : reason,
    });
  }
}

/** A NumericDate in milliseconds; undefined for anything that is none. */
export function dateOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && value >= 0 && value <= MAX_SECONDS
    ? Math.trunc(value * 1000)
    : undefined;
}

/** Lone surrogates are refused: such a text could not be written to the record later. */
function isText(value: JsonValue | undefined, maxLength: number): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= maxLength && value.isWellFormed();
}

function isList(value: JsonValue | undefined): value is JsonValue[] {
  return Array.isArray(value) && value.length <= MAX_ITEMS;
}

function isPort(value: JsonValue): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535;
}
