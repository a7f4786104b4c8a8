import type { EgressRule } from "@sallyport/engine/ports";
import { describe, expect, it } from "vitest";
import { readTarget } from "./destination.ts";
import { readRules, ruleFor } from "./rules.ts";

function allowed(rules: EgressRule[], target: string): EgressRule | undefined {
  const to = readTarget(target);
  return to && ruleFor(readRules(rules), to)?.rule;
}

const header = (name: string, value = "{secret}") => ({ secret: "s", as: { header: name, value } });

describe("which rule holds for a destination [L3-EXE-1]", () => {
  it.each([
    ["api.example.com", "api.example.com:443", true],
    ["api.example.com", "API.EXAMPLE.COM.:1", true],
    ["API.example.com.", "api.example.com:443", true],
    ["api.example.com", "example.com:443", false],
    ["api.example.com", "x.api.example.com:443", false],
    ["api.example.com", "api.example.com.evil.com:443", false],
    ["api.example.com", "xapi.example.com:443", false],
    ["api.example.com:443", "api.example.com:443", true],
    ["api.example.com:443", "api.example.com:80", false],
    ["*.example.com", "a.example.com:443", true],
    ["*.example.com", "a.b.example.com:443", true],
    ["*.example.com", "example.com:443", false],
    ["*.example.com", "aexample.com:443", false],
    ["*.example.com", "a.example.com.evil.com:443", false],
    ["*", "anything.example:443", true],
    ["*", "1.1.1.1:443", false],
    ["*", "[2606:4700::1]:443", false],
    ["*", "0x01010101:443", false],
    ["1.1.1.1", "1.1.1.1:443", true],
    ["1.1.1.1", "0x01010101:443", true],
    ["1.1.1.1", "[::ffff:1.1.1.1]:443", true],
    ["1.1.1.1", "1.1.1.2:443", false],
    ["[2606:4700::1]", "[2606:4700:0::1]:443", true],
    ["2606:4700::1", "[2606:4700::1]:443", true],
    ["bücher.example", "xn--bcher-kva.example:443", true],
  ])("%s and %s: %s", (host, target, is) => {
    expect(allowed([{ host }], target) !== undefined).toBe(is);
  });

  it("takes the most special of several, in whatever order they stand", () => {
    const rules: EgressRule[] = [
      { host: "*" },
      { host: "*.example.com", allowPrivate: true },
      { host: "api.example.com" },
      { host: "api.example.com", port: 443, credential: header("authorization") },
    ];
    for (const order of [rules, rules.toReversed()]) {
      expect(allowed(order, "api.example.com:443")).toBe(rules[3]);
      expect(allowed(order, "api.example.com:80")).toBe(rules[2]);
      expect(allowed(order, "b.example.com:443")).toBe(rules[1]);
      expect(allowed(order, "example.org:443")).toBe(rules[0]);
    }
  });

  it.each<[string, EgressRule]>([
    ["no host", { host: "" }],
    ["a URL", { host: "https://example.com" }],
    ["a path", { host: "example.com/x" }],
    ["a star inside", { host: "a.*.com" }],
    ["a star under an address", { host: "*.1.1.1.1" }],
    ["two ports", { host: "example.com:80", port: 81 }],
    ["port 0", { host: "example.com", port: 0 }],
    ["port 65536", { host: "example.com", port: 65_536 }],
    ["half a port", { host: "example.com", port: 80.5 }],
    ["a credential for everyone", { host: "*", credential: header("authorization") }],
    ["a credential in Host", { host: "a.example", credential: header("Host") }],
    ["a credential in Content-Length", { host: "a.example", credential: header("content-length") }],
    ["a credential in no header", { host: "a.example", credential: header("not a header") }],
    ["a credential that splits", { host: "a.example", credential: header("x", "{secret}\r\nevil: 1") }],
    ["a credential without a place", { host: "a.example", credential: header("x", "secret") }],
    [
      "a user with a colon",
      { host: "a.example", credential: { secret: "s", as: { basic: { user: "a:b" } } } },
    ],
  ])("refuses a rule with %s", (_, rule) => {
    expect(() => readRules([rule])).toThrow(/^E3104: The network rule for .* cannot be used/);
  });
});
