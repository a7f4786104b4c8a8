import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { ADVERSARIES } from "./fixtures/adversarial.ts";
import { createRedactor, redact, redactText } from "./redact.ts";

const MEGABYTE = 2 ** 20;
const strict = createRedactor({ profile: "strict" });

/** A megabyte takes about 200 ms; what is not linear takes an hour. */
const ENDLESS_MS = 60_000;

/** Processor time of this thread alone: other work on the machine does not count. */
function expectCpu(mostMs: number, work: () => unknown): void {
  const before = process.threadCpuUsage();
  work();
  expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(mostMs);
}

/** Made flat beforehand, as text that was read from somewhere is. */
function flat(text: string): string {
  const encoding = text.isWellFormed() ? "utf8" : "utf16le";
  return Buffer.from(text, encoding).toString(encoding);
}

describe("hostile text", () => {
  it.each(ADVERSARIES)("takes time in proportion to its length: a megabyte of $against", ({ text }) => {
    const given = flat(text(MEGABYTE));
    expectCpu(ENDLESS_MS, () => strict.redactText(given));
  });

  it("takes time in proportion to its length, up to ten megabytes", { timeout: 120_000 }, () => {
    const prose =
      "It was noted: the report = fine, see https://example.com/a?b=c or ask ada@example.com (4 of 5). ";
    const given = flat(prose.repeat(Math.ceil((10 * MEGABYTE) / prose.length)));
    expectCpu(ENDLESS_MS, () => redactText(given));
  });

  it.each(["password=", "https://", "Bearer ", "Cookie: a=", "eyJ", "4 ", 'token="', "glpat-"])(
    "may have a value of thirty megabytes after %j",
    { timeout: 120_000 },
    (start) => {
      const text = start + "4x".repeat(15 * MEGABYTE);
      expect(redactText(text).length).toBeLessThanOrEqual(text.length);
    },
  );

  it("keeps lone surrogates and whole pairs as they are", () => {
    const text = "\ud800 \udc00 \ud83d\ude00 password=\ud83d\ude00x \udfff";
    expect(redactText(text)).toBe("\ud800 \udc00 \ud83d\ude00 password=[REDACTED] \udfff");
  });
});

function nested(depth: number, innermost: JsonValue, wrap: (inner: JsonValue) => JsonValue): JsonValue {
  let value = innermost;
  for (let level = 0; level < depth; level += 1) value = wrap(value);
  return value;
}

function innermost(value: JsonValue): JsonValue {
  let inner = value;
  while (typeof inner === "object" && inner !== null) inner = Object.values(inner)[0] ?? null;
  return inner;
}

describe("hostile values", () => {
  it.each([
    ["arrays", (inner: JsonValue): JsonValue => [inner]],
    ["objects", (inner: JsonValue): JsonValue => ({ a: inner })],
  ])("are redacted at a depth of 10,000: %s", (_, wrap) => {
    expect(innermost(redact(nested(10_000, "password=hunter2", wrap)))).toBe("password=[REDACTED]");
    const harmless = nested(10_000, "fine", wrap);
    expect(redact(harmless)).toBe(harmless);
  });

  it("may contain themselves", () => {
    const self: Record<string, JsonValue> = { password: "hunter2" };
    self.again = self;
    self.list = [self, { self }];
    expect(redact(self)).toEqual({
      password: "[REDACTED]",
      again: "[CIRCULAR]",
      list: ["[CIRCULAR]", { self: "[CIRCULAR]" }],
    });
  });

  it("may hold the same object many times over", () => {
    const doubled = nested(60, { password: "hunter2" }, (inner) => [inner, inner]);
    // Looked at one by one, they are 2 ** 60.
    expect(innermost(redact(doubled))).toBe("[REDACTED]");
  });

  it("may be wide: 50,000 fields and names that all become the same marker", { timeout: 120_000 }, () => {
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`p${at}@example.com`, at]));
    const kept = redact(wide) as Record<string, JsonValue>;
    expect(Object.keys(kept)).toHaveLength(50_000);
    expect(kept["[REDACTED_EMAIL]"]).toBe(0);
    expect(kept["[REDACTED_EMAIL] (50000)"]).toBe(49_999);
  });

  it("keep a field named __proto__ as one of their own", () => {
    const value = JSON.parse('{"__proto__":{"password":"hunter2"},"token":"abc"}') as JsonValue;
    const kept = redact(value);
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype);
    expect(JSON.stringify(kept)).toBe('{"__proto__":{"password":"[REDACTED]"},"token":"[REDACTED]"}');
  });

  it("have their getters run once", () => {
    let runs = 0;
    const value = {
      get note() {
        runs += 1;
        return "password=hunter2";
      },
      token: "abc",
    };
    expect(redact(value)).toEqual({ note: "password=[REDACTED]", token: "[REDACTED]" });
    expect(runs).toBe(1);
  });

  it("may hold JSON in text that is deeper than can be written again", () => {
    const deep = `${"[".repeat(20_000)}"password=hunter2"${"]".repeat(20_000)}`;
    expect(redactText(deep)).not.toContain("hunter2");
  });
});
