import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codeIn, oneLine, wordsIn } from "./provider-words.ts";

/** Control characters and all scripts; built by hand because fast-check takes seconds to prepare its own. */
const TEXT = fc
  .array(fc.integer({ min: 0, max: 0x2fff }), { maxLength: 600 })
  .map((codes) => String.fromCharCode(...codes));

describe("a provider's own words", () => {
  it.each([
    ['{"error":{"message":"no such model","code":"x"}}', "no such model"],
    ['{"error":"model not found"}', "model not found"],
    ['{"message":"nope"}', "nope"],
    ['{"detail":"Not Found"}', "Not Found"],
    ['{"detail":[{"msg":"bad"}]}', undefined],
    ["<html>", undefined],
    ["null", undefined],
    [undefined, undefined],
  ])("are found in %s", (body, words) => {
    expect(wordsIn(body)).toBe(words);
  });

  it("may have a code", () => {
    expect(codeIn('{"error":{"message":"m","code":"insufficient_quota"}}')).toBe("insufficient_quota");
    expect(codeIn('{"error":{"message":"m","type":"overloaded_error"}}')).toBe("overloaded_error");
    expect(codeIn("x")).toBeUndefined();
  });

  it("are shown in one bounded line without control characters", () => {
    fc.assert(
      fc.property(TEXT, (text) => {
        const shown = oneLine(text);
        expect(shown).not.toMatch(/\p{Cc}/u);
        expect(shown.length).toBeLessThanOrEqual(301);
      }),
    );
  });

  it("are redacted before they are cut", () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    const shown = oneLine(`${"x".repeat(280)} ${token}`);
    expect(shown).not.toContain("ghp_a1B2");
  });
});
