import { describe, expect, it } from "vitest";
import { NEGATIVE_TEXTS, NEGATIVE_VALUES } from "./fixtures/negatives.ts";
import { POSITIVES } from "./fixtures/positives.ts";
import { redact, redactLog, redactText } from "./redact.ts";

const WINDOW = 8;

/** Parts of the secret that are still there: none may be, of eight characters or more. */
function survivors(secret: string, result: string): string[] {
  if (secret.length < WINDOW) return result.includes(secret) ? [secret] : [];
  return Array.from({ length: secret.length - WINDOW + 1 }, (_, at) => secret.slice(at, at + WINDOW)).filter(
    (part) => result.includes(part) || result.includes(JSON.stringify(part).slice(1, -1)),
  );
}

describe("the corpus of secrets [L3P2-3]", () => {
  it("is large enough to mean something", () => {
    expect(POSITIVES.length).toBeGreaterThan(120);
    expect(new Set(POSITIVES.map(({ marker }) => marker)).size).toBeGreaterThan(25);
    expect(NEGATIVE_TEXTS.length + NEGATIVE_VALUES.length).toBeGreaterThan(80);
  });

  const groups = Map.groupBy(POSITIVES, ({ what }) => what);

  it.each([...groups])("lets no part of it through, and nothing more the second time: %s", (_, positives) => {
    const failed = positives.filter(({ text, secret, marker }) => {
      const result = redactText(text);
      return (
        survivors(secret, result).length > 0 || !result.includes(marker) || redactText(result) !== result
      );
    });
    expect(failed.map(({ where, text }) => ({ where, text, result: redactText(text) }))).toEqual([]);
  });

  it.each([...groups])("lets none through inside a value, a name or an error: %s", (_, positives) => {
    const failed = positives.filter(({ text, secret }) => {
      const kept = redact({ about: [{ text, ok: true }], [text]: 1 });
      const logged = redactLog(new Map([[text, new Error(text)]]));
      return survivors(secret, JSON.stringify([kept, logged])).length > 0;
    });
    expect(failed.map(({ where, text }) => ({ where, text }))).toEqual([]);
  });
});

describe("the corpus of ordinary things", () => {
  it.each(NEGATIVE_TEXTS)("leaves %j alone", (text) => {
    expect(redactText(text)).toBe(text);
    const value = { about: [text], [text]: true };
    expect(redact(value)).toBe(value);
  });

  it.each(NEGATIVE_VALUES.map((value) => [value]))("gives back the same object for %j", (value) => {
    expect(redact(value)).toBe(value);
  });
});
