import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FORMATS } from "./formats.ts";
import { PatternEngine } from "./patterns.ts";

const patterns = new PatternEngine();
const unlimited = { spend() {} };

function matches(source: string, text: string): boolean | string {
  const compiled = patterns.get(source);
  return compiled.ok ? compiled.pattern.test(text, unlimited) : compiled.reason;
}

const ATOMS = (
  String.raw`a b . \d \D \w \W \s \S [ab] [^a\s] [[] [\S] [a-c\d] [[:a] \u0061 \x62 \u{1F600} \uD83D\uDE00 \cJ \n \0 \/ \. ` +
  String.raw`\p{L} \P{Lu} \p{Script=Greek} \p{Letter} \P{Uppercase_Letter} [\p{gc=Decimal_Number}] [^] \b ^ $ [\b] [(?=]`
).split(" ");
const TEXTS = [..."abc1_ \n\r\u2028\u00a0\ufeff\u180eéαΑ😀[:(=/.\b\0-"];

const atom = fc.constantFrom(...ATOMS);
const quantified = fc
  .tuple(atom, fc.constantFrom("", "", "*", "+", "?", "{1,2}", "*?"))
  .map(([each, times]) => (/^(\\b|\^|\$)$/.test(each) ? each : each + times));
const sequence = fc.array(quantified, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
const pattern = fc.oneof(
  sequence,
  fc.tuple(sequence, sequence).map(([a, b]) => `(?:${a}|${b})`),
  fc.tuple(sequence, sequence).map(([a, b]) => `(?<n>${a})${b}`),
);
const text = fc.array(fc.constantFrom(...TEXTS), { maxLength: 5 }).map((parts) => parts.join(""));

describe("a pattern that runs in linear time", () => {
  it("matches what the ECMAScript one matches", () => {
    fc.assert(
      fc.property(pattern, text, (source, input) => {
        const compiled = patterns.get(source);
        if (!compiled.ok) throw new Error(`${source} ${compiled.reason}`);
        expect(compiled.pattern.test(input, unlimited)).toBe(new RegExp(source, "u").test(input));
      }),
    );
  });

  it("ends a text only at its end", () => {
    expect(matches("^a$", "a\n")).toBe(false);
  });

  it.each([
    ["(?=a)b", "uses a lookahead"],
    ["(?!a)b", "uses a lookahead"],
    ["(?<=a)b", "uses a lookbehind"],
    ["(a)\\1", "uses a backreference"],
    ["(?<n>a)\\k<n>", "uses a backreference"],
    ["^(?s:.)$", "uses flags that change what . or a line end is"],
    ["(?i-m:a$)", "uses flags that change what . or a line end is"],
    ["[]", "uses an empty character class, which nothing can match"],
  ])("is refused for %s, with the reason", (source, reason) => {
    expect(matches(source, "")).toBe(reason);
  });

  it("is not confused by the same characters inside a class or escaped", () => {
    expect(matches("^[(?=]$", "=")).toBe(true);
    expect(matches("^\\(\\?=$", "(?=")).toBe(true);
    expect(matches("^[[:a]$", ":")).toBe(true);
    expect(matches("^[(?s:]$", "s")).toBe(true);
    expect(matches("^(?i:a)(?:s:)$", "As:")).toBe(true);
  });

  it("takes classic traps in its stride", () => {
    const start = performance.now();
    for (const source of ["^(a+)+$", "(x+x+)+y", "^(a|aa)*b", "(.*){10}!"]) {
      expect(matches(source, `${"a".repeat(100_000)}?`)).toBe(false);
    }
    expect(performance.now() - start).toBeLessThan(15_000);
  });
});

describe("formats cannot hang on a long text", () => {
  const long = 262_144;
  const traps = [
    "1".repeat(long),
    `P${"1".repeat(long)}`,
    `a@${"a-".repeat(long / 2)}`,
    `${"a.".repeat(long / 2)}@`,
    `a@${"a.".repeat(long / 2)}!`,
    `http://${"a".repeat(long)}\u0000`,
    `http://${"a:".repeat(long / 2)}@ `,
    `a:${"/a".repeat(long / 2)}^`,
    `a://${"%41".repeat(long / 3)}^`,
    `a:?${"a/".repeat(long / 2)}^`,
    "t".repeat(long),
    ":".repeat(long),
    `2026-01-31T00:00:00.${"1".repeat(long)}`,
    "::1".repeat(long / 3),
    `[${"1:".repeat(long / 2)}]`,
  ];
  it.each([...FORMATS])("%s", (_name, check) => {
    const start = performance.now();
    for (const trap of traps) check(trap);
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  it.each([
    ["date-time", "2026-01-31T09:30:00.123+02:00", "2026-01-31 nine"],
    ["date", "2024-02-29", "2026-02-29"],
    ["time", "09:30:00Z", "09:30"],
    ["duration", "P1Y2M3DT4H5M6S", "P"],
    ["email", "someone@example.com", "someone@"],
    ["hostname", "api.example.com", "-a"],
    ["ipv4", "192.168.0.1", "256.1.1.1"],
    ["ipv6", "2001:db8::1", "2001:::1"],
    ["uri", "https://example.com/a?b#c", "example"],
    ["uuid", "6f1c2a8e-0b1d-4c5e-9f3a-2b7d8e9f0a1b", "6f1c2a8e"],
  ])("%s still tells good from bad", (name, good, bad) => {
    const check = FORMATS.get(name);
    expect([check?.(good), check?.(bad)]).toEqual([true, false]);
  });
});
