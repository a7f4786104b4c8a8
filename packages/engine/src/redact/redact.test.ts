import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { jwt, pemLabel } from "./fixtures/made-up.ts";
import { createRedactor, redact, redactText } from "./redact.ts";

describe("redaction of values [L3P2-3]", () => {
  it("takes out secret fields at any depth and leaves the rest alone", () => {
    const secrets = {
      apiKey: "k",
      apiKeys: ["k"],
      "client-secret": 1,
      Cookie: "c",
      credentials: { user: "u" },
    };
    const harmless = { tokens: 3, max_tokens: 9, secretary: "s", passage: "p" };
    const redacted = Object.fromEntries(Object.keys(secrets).map((name) => [name, "[REDACTED]"]));
    const nested = (inner: JsonValue): JsonValue => ({ user: "u", list: [{ inner, ...harmless }] });
    expect(redact(nested(secrets))).toEqual(nested(redacted));
  });

  it("leaves nothing, emptiness, yes and no under a secret name", () => {
    const value = { password: null, secret: "", token: true, cookie: false, apiKeys: [], credentials: {} };
    expect(redact(value)).toBe(value);
  });

  it("is the same value when there is nothing to hide, down to the parts that did not change", () => {
    const value = { a: [1, { b: "text that is long enough to look at" }], password: "p" };
    expect(redact(value.a)).toBe(value.a);
    expect((redact(value) as typeof value).a).toBe(value.a);
  });

  it("leaves what is no JSON at all as it is", () => {
    const value = Object.assign(JSON.parse("{}"), { a: undefined, list: [undefined], password: "p" });
    expect(redact(value)).toEqual({ a: undefined, list: [undefined], password: "[REDACTED]" });
  });

  it("does not change what it was given", () => {
    const value = { list: ["password=hunter2"], pin: 1234 };
    redact(value);
    expect(value).toEqual({ list: ["password=hunter2"], pin: 1234 });
  });

  it("redacts names, and keeps every value when two become the same", () => {
    const value = { "ada@a.example": 1, "bob@b.example": 2, "[REDACTED_EMAIL] (2)": 3, "eve@c.example": 4 };
    expect(Object.entries(redact(value) as object)).toEqual([
      ["[REDACTED_EMAIL]", 1],
      ["[REDACTED_EMAIL] (2)", 2],
      ["[REDACTED_EMAIL] (2) (2)", 3],
      ["[REDACTED_EMAIL] (3)", 4],
    ]);
  });

  it("knows values that have their name beside them, and arguments after a flag", () => {
    const shown = (secret: string) => [
      { name: "Authorization", value: secret },
      { key: "DB_PASSWORD", value: secret },
      { name: "Accept", value: "text/html" },
      ["run", "--password", secret, "--verbose", "--token", secret],
    ];
    expect(redact(shown("abc"))).toEqual(shown("[REDACTED]"));
  });

  it("knows a payment card that is a number", () => {
    const card = Number(`4${"1".repeat(15)}`);
    expect(redact([card, card + 1, 1_767_225_600_000])).toEqual([
      "[REDACTED_CARD]",
      card + 1,
      1_767_225_600_000,
    ]);
  });
});

describe("redaction of text [L3P2-3]", () => {
  it("leaves what follows the secret", () => {
    expect(redactText(`He used ${jwt({ sub: "1" })}.`)).toBe("He used [REDACTED_JWT].");
    const escaped = (token: string) => `got {\\"token\\":\\"${token}\\"} back`;
    expect(redactText(escaped("abc123"))).toBe(escaped("[REDACTED]"));
  });

  it("reads JSON in a text by its names, as deep as it is wrapped", () => {
    const inner = JSON.stringify({ apiKey: { a: 1 }, n: 1 });
    expect(redactText(` [${JSON.stringify(inner)}] `)).toBe(
      JSON.stringify([JSON.stringify({ apiKey: "[REDACTED]", n: 1 })]),
    );
    expect(redactText('{ "a": 1,  "password": null }')).toBe('{ "a": 1,  "password": null }');
  });

  it("searches JSON of more than 64 KiB by its patterns", () => {
    const long = JSON.stringify({ pad: "x ".repeat(40_000), password: "hunter2" });
    expect(redactText(long)).toBe(long.replace("hunter2", "[REDACTED]"));
  });

  it("leaves labels of keys alone where no key follows", () => {
    const code = `if (!pem.includes("${pemLabel("BEGIN", "")}")) throw new Error("no key"); return pem.trim();`;
    expect(redactText(code)).toBe(code);
  });
});

describe("profiles", () => {
  const text =
    "Ada <ada@example.com>, +49 30 9018 2030, (555) 123-4567, from 192.168.10.254, password=hunter2";

  it.each([
    ["secrets", "Ada <ada@example.com>, +49 30 9018 2030, (555) 123-4567, from 192.168.10.254"],
    ["balanced", "Ada <[REDACTED_EMAIL]>, +49 30 9018 2030, (555) 123-4567, from 192.168.10.254"],
    ["strict", "Ada <[REDACTED_EMAIL]>, [REDACTED_PHONE], [REDACTED_PHONE], from [REDACTED_IPV4]"],
  ] as const)("%s takes out what it promises [G-017]", (profile, shown) => {
    expect(createRedactor({ profile }).redactText(text)).toBe(`${shown}, password=[REDACTED]`);
  });

  it("leave versions and dates alone, even strictly", () => {
    const strict = createRedactor({ profile: "strict" });
    for (const harmless of ["1.2.3", "v1.2.3.4-beta", "2026-01-31T10:00:00Z", "1.2.3.4.5", "999.1.1.1"])
      expect(strict.redactText(harmless)).toBe(harmless);
  });
});

describe("a redactor of one's own", () => {
  it("knows more fields and more patterns, in text and in names too", () => {
    const own = createRedactor({
      extraFields: ["patient name"],
      extraPatterns: [{ type: "CASE", pattern: /case \d+/i }],
    });
    const value: JsonValue = {
      patientName: "Ada",
      note: "Case 12 and case 7; patient-name: Bob",
      "case 3": 1,
    };
    expect(own.redact(value)).toEqual({
      patientName: "[REDACTED]",
      note: "[REDACTED_CASE] and [REDACTED_CASE]; patient-name: [REDACTED]",
      "[REDACTED_CASE]": 1,
    });
    expect(redact(value)).toBe(value);
  });

  it("may have patterns that match nothing, stick or remember where they were", () => {
    const own = createRedactor({
      extraPatterns: [
        { type: "NOTHING", pattern: /x*/g },
        { type: "DIGIT", pattern: /\d/y },
      ],
    });
    expect([own.redactText("axxb 1 2"), own.redactText("axxb 1 2")]).toEqual(
      Array(2).fill("a[REDACTED_NOTHING]b [REDACTED_DIGIT] [REDACTED_DIGIT]"),
    );
  });

  it("refuses a type that would break its markers", () => {
    const wrong = () => createRedactor({ extraPatterns: [{ type: "a b", pattern: /x/ }] });
    expect(wrong).toThrow(TypeError);
  });
});
