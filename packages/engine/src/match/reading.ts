import { type Issue, isJsonObject, type JsonObject, nearestName } from "@sallyport/protocol";
import { readHost } from "./hosts.ts";
import { pointTo } from "./json-pointer.ts";
import { readPath } from "./paths.ts";

const MAX_ISSUES = 100;
const MAX_LIST = 1_000;
export const MAX_PATTERN = 256;
const MAX_TEXT = 1_000;

/**
 * Reads a document that people write, noting every wrong place instead of stopping at the first. What is wrong comes
 * back as undefined or left out; only a reading without issues may be used.
 */
export class Reading {
  readonly issues: Issue[] = [];
  /** For what is compiled here: many rules look at the same argument, and it is read once for all of them. */
  readonly readHost = rememberingLast(readHost);
  readonly readPath = rememberingLast(readPath);

  wrong(path: string, reason: string, suggestion?: string): undefined {
    if (this.issues.length < MAX_ISSUES) {
      this.issues.push({ path, reason, ...(suggestion !== undefined && { suggestion }) });
    }
    return undefined;
  }

  /** An object with no other members than the known ones. */
  object(value: unknown, path: string, known: readonly string[]): JsonObject | undefined {
    if (!isJsonObject(value))
      return this.wrong(path, "must be an object", `with the keys ${known.join(", ")}`);
    for (const key of Object.keys(value)) {
      if (!known.includes(key)) {
        this.wrong(pointTo(path, key), `unknown key "${key}"`, suggestName(key, known));
      }
    }
    return value;
  }

  text(value: unknown, path: string, max = MAX_TEXT): string | undefined {
    if (typeof value !== "string" || value === "") return this.wrong(path, "must be text");
    return value.length <= max ? value : this.wrong(path, `must have at most ${max} characters`);
  }

  number(value: unknown, path: string): number | undefined {
    return typeof value === "number" ? value : this.wrong(path, "must be a number");
  }

  /** One of the known words. */
  word<Word extends string>(value: unknown, path: string, known: readonly Word[]): Word | undefined {
    const found = known.find((word) => word === value);
    if (found !== undefined) return found;
    return this.wrong(path, `must be one of ${known.join(", ")}`, suggestName(String(value), known));
  }

  /** A list, or one thing alone; at least one. */
  list<Item>(value: unknown, path: string, read: (item: unknown, path: string) => Item | undefined): Item[] {
    if (!Array.isArray(value)) return [read(value, path)].filter((item) => item !== undefined);
    if (value.length === 0) this.wrong(path, "must not be empty", "leave it out where it does not matter");
    if (value.length > MAX_LIST) this.wrong(path, `must have at most ${MAX_LIST} entries`);
    return value
      .slice(0, MAX_LIST)
      .map((item, index) => read(item, pointTo(path, index)))
      .filter((item) => item !== undefined);
  }

  /** Names or patterns with `*`. */
  patterns(value: unknown, path: string): string[] {
    return this.list(value, path, (item, at) => this.text(item, at, MAX_PATTERN));
  }
}

function suggestName(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? `known: ${known.join(", ")}` : `did you mean "${near}"?`;
}

function rememberingLast<Given, Read>(
  read: (text: string, given?: Given) => Read,
): (text: string, given?: Given) => Read {
  let last: { text: string; given: Given | undefined; result: Read } | undefined;
  return (text, given) => {
    if (last?.text !== text || last.given !== given) last = { text, given, result: read(text, given) };
    return last.result;
  };
}
