import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { badArguments } from "./problems.ts";

/**
 * Reads a call's arguments once, by name and type; what comes out is all a tool looks at (FR-REG-02). Throws E3901. The
 * engine has checked the schema by then; a preflight may come before that.
 */
export class ArgumentReader {
  readonly #input: JsonObject;

  constructor(input: JsonValue) {
    if (!isJsonObject(input)) throw badArguments("the arguments must be an object");
    this.#input = input;
  }

  text(name: string): string {
    const value = this.#input[name];
    if (typeof value !== "string") throw badArguments(`${name} must be a string`);
    if (!value.isWellFormed()) throw badArguments(`${name} holds half a character`);
    return value;
  }

  /** Not blank. */
  path(name = "path"): string {
    const value = this.text(name);
    if (value.trim() === "") throw badArguments(`${name} must not be blank`);
    return value;
  }

  /** A whole number from 1; undefined when it is not given. */
  count(name: string): number | undefined {
    const value = this.#input[name] ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1) return value;
    throw badArguments(`${name} must be a whole number from 1`);
  }

  flag(name: string, otherwise: boolean): boolean {
    const value = this.#input[name] ?? otherwise;
    if (typeof value !== "boolean") throw badArguments(`${name} must be true or false`);
    return value;
  }
}
