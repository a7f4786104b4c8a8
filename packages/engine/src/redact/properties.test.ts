import { isJsonObject, type JsonValue } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { json, placed, soup } from "./fixtures/arbitrary.ts";
import { createRedactor, redact, redactLog, redactText } from "./redact.ts";

const strict = createRedactor({ profile: "strict", extraFields: ["iban"] });

/** Whether the result has the form of the value: what was taken out left a marker and nothing else moved. */
function hasForm(before: JsonValue, after: JsonValue): boolean {
  if (after === before) return true;
  if (typeof after === "string") return /\[REDACTED|\[CIRCULAR\]/.test(after);
  if (Array.isArray(before))
    return (
      Array.isArray(after) &&
      after.length === before.length &&
      before.every((item, at) => hasForm(item, after[at] ?? null))
    );
  if (!isJsonObject(before) || !isJsonObject(after)) return false;
  const [names, kept] = [Object.keys(before), Object.keys(after)];
  return (
    names.length === kept.length &&
    names.every((name) => Object.hasOwn(after, name) || redactText(name) !== name)
  );
}

/** Puts a text somewhere into a value: at the end of a path chosen by `turns`, as a value or as a name. */
function put(into: JsonValue, text: string, turns: readonly number[]): JsonValue {
  const [turn = 0, ...rest] = turns;
  if (Array.isArray(into) && into.length > 0) {
    const at = turn % into.length;
    return into.with(at, put(into[at] ?? null, text, rest));
  }
  const names = isJsonObject(into) ? Object.keys(into) : [];
  const name = names[turn % Math.max(1, names.length)];
  if (!isJsonObject(into) || name === undefined) return turn % 2 === 0 ? text : { [text]: 1 };
  return Object.fromEntries(
    Object.entries(into).map(([key, value]) => [key, key === name ? put(value, text, rest) : value]),
  );
}

describe("redaction of anything [L3P2-3]", () => {
  it("changes nothing more the second time", () => {
    fc.assert(
      fc.property(json, (value) => {
        const once = redact(value);
        expect(redact(once)).toEqual(once);
        const strictly = strict.redact(value);
        expect(strict.redact(strictly)).toEqual(strictly);
      }),
    );
  });

  it("changes nothing more in text the second time", () => {
    fc.assert(
      fc.property(soup, (text) => {
        const once = redactText(text);
        expect(redactText(once)).toBe(once);
      }),
    );
  });

  it("keeps the form of a value, and the value itself when it took nothing out", () => {
    fc.assert(
      fc.property(json, (value) => {
        const before = structuredClone(value);
        const kept = redact(value);
        expect(value).toEqual(before);
        expect(hasForm(value, kept)).toBe(true);
        if (JSON.stringify(kept) === JSON.stringify(value)) expect(kept).toBe(value);
      }),
    );
  });

  it("lets no secret through, wherever it stands", () => {
    const turns = fc.array(fc.nat(6), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(fc.jsonValue(), placed, turns, (value, { secret, text }, path) => {
        const given = put(value as JsonValue, text, path);
        expect(JSON.stringify(redact(given))).not.toContain(secret);
        expect(JSON.stringify(redactLog({ given, cause: new Error(text) }))).not.toContain(secret);
      }),
    );
  });

  it("never throws on whatever is logged", () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withTypedArray: true,
          withNullPrototype: true,
          withSparseArray: true,
          withBoxedValues: true,
          withObjectString: true,
        }),
        (value) => {
          const logged = JSON.stringify(redactLog(value));
          expect(JSON.stringify(JSON.parse(logged))).toBe(logged);
          expect(logged.isWellFormed()).toBe(true);
        },
      ),
    );
  });
});
