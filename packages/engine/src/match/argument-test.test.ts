import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { compileArgumentTest } from "./argument-test.ts";
import { DocumentNode } from "./document.ts";
import { NO, type Truth, UNSURE, YES } from "./truth.ts";

function judge(test: JsonValue, value: JsonValue | undefined): Truth {
  const node = DocumentNode.of(test);
  const compiled = compileArgumentTest(node);
  expect(node.issues).toEqual([]);
  if (!compiled) throw new Error("the test should compile");
  return compiled(value);
}

function issuesOf(test: unknown) {
  const node = DocumentNode.of(test, "/t");
  compileArgumentTest(node);
  return node.issues;
}

describe("tests of an argument", () => {
  it.each<[JsonValue, JsonValue, Truth]>([
    [{ equals: "prod" }, "prod", YES],
    [{ equals: "prod" }, "dev", NO],
    [{ equals: "5" }, 5, UNSURE],
    [{ equals: { a: 1, b: 2 } }, { b: 2, a: 1 }, YES],
    [{ equals: [1, 2] }, [1, 2], YES],
    [{ equals: [1, 2] }, [2, 1], NO],
    [{ equals: null }, null, YES],
    [{ oneOf: ["a", 5] }, 5, YES],
    [{ oneOf: ["a", 5] }, 6, NO],
    [{ oneOf: ["a", 5] }, true, UNSURE],
    [{ glob: "prod-*" }, "prod-eu", YES],
    [{ glob: ["a", "prod-*"] }, "dev", NO],
    [{ regex: "^prod" }, "production", YES],
    [{ regex: "^prod" }, "nonprod", NO],
    [{ regex: "^prod" }, 5, UNSURE],
    [{ min: 100, max: 1000 }, 100, YES],
    [{ min: 100, max: 1000 }, 1001, NO],
    [{ above: 100 }, 100, NO],
    [{ below: 100 }, 99.5, YES],
    [{ min: 100 }, "100", UNSURE],
    [{ min: 100 }, null, UNSURE],
    [{ inside: ["/etc"] }, "/etc/../etc/passwd", YES],
    [{ inside: ["/etc"] }, "/etcetera", NO],
    [{ inside: ["/etc"] }, "/etc/\0", UNSURE],
    [{ inside: ["/etc"] }, "notes.txt", UNSURE],
    [{ inside: ["/etc"], base: "/srv" }, "notes.txt", NO],
    [{ inside: ["data"], base: "/srv" }, "data/x", YES],
    [{ inside: ["data"], base: "/srv" }, "/srv/data/x", YES],
    [{ inside: ["data"], base: "/srv" }, "../etc", UNSURE],
    [{ hostIn: ["*.prod.example.com"] }, "https://x@db.PROD.example.com./q", YES],
    [{ hostIn: ["prod.example.com"] }, "prod.example.com.evil.org", NO],
    [{ hostIn: ["prod.example.com"] }, "https://a@b@c", UNSURE],
    [{ exists: true }, null, YES],
    [{ not: { equals: "prod" } }, "dev", YES],
    [{ not: { min: 5 } }, "7", UNSURE],
  ])("%j of %j is %i", (test, value, truth) => expect(judge(test, value)).toBe(truth));

  it("are met by nothing that is not there, and cannot say what it is not", () => {
    expect(judge({ equals: "prod" }, undefined)).toBe(NO);
    expect(judge({ exists: false }, undefined)).toBe(YES);
    expect(judge({ not: { equals: "prod" } }, undefined)).toBe(UNSURE);
    expect(judge({ not: { exists: true } }, undefined)).toBe(YES);
    expect(judge({ not: { exists: true, equals: "prod" } }, undefined)).toBe(YES);
  });

  it("judge a list by its entries: all, none, or in doubt", () => {
    const test = { inside: ["/etc"] };
    expect(judge(test, ["/etc/a", "/etc/b"])).toBe(YES);
    expect(judge(test, ["/srv/a", "/srv/b"])).toBe(NO);
    expect(judge(test, ["/etc/a", "/srv/b"])).toBe(UNSURE);
    expect(judge(test, [])).toBe(NO);
    expect(judge(test, ["/etc/a", ["/etc/b"]])).toBe(UNSURE);
    expect(judge({ equals: "prod" }, ["dev", "prod"])).toBe(UNSURE);
  });

  it("leave a text too long for a pattern in doubt, and stay quick", () => {
    const started = performance.now();
    expect(judge({ regex: "(a+)+$" }, `${"a".repeat(20_000)}b`)).toBe(NO);
    expect(judge({ regex: "(a+)+$" }, "a".repeat(900_000))).toBe(UNSURE);
    expect(judge({ glob: "*a*b" }, "a".repeat(900_000))).toBe(UNSURE);
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  it("leave half a character in doubt", () => expect(judge({ regex: "x" }, "x\ud800")).toBe(UNSURE));
});

describe("wrong tests of an argument", () => {
  it.each<[unknown, string, RegExp]>([
    ["prod", "/t", /must be an object/],
    [{}, "/t", /what to look for/],
    [{ equal: 1 }, "/t/equal", /unknown key/],
    [{ exists: "yes" }, "/t/exists", /true or false/],
    [{ oneOf: "a" }, "/t/oneOf", /list/],
    [{ oneOf: [] }, "/t/oneOf", /list/],
    [{ min: "5" }, "/t/min", /number/],
    [{ glob: [] }, "/t/glob", /empty/],
    [{ glob: Array(1_001).fill("a") }, "/t/glob", /at most 1000 entries/],
    [{ glob: "a".repeat(300) }, "/t/glob", /at most 256/],
    [{ regex: "(?=a)" }, "/t/regex", /linear time/],
    [{ regex: "(" }, "/t/regex", /linear time/],
    [{ regex: "a".repeat(1_001) }, "/t/regex", /at most 1000/],
    [{ inside: ["../x"] }, "/t/inside/0", /plain path/],
    [{ inside: ["/x"], base: "y" }, "/t/base", /absolute/],
    [{ equals: 1, base: "/y" }, "/t/base", /relative/],
    [{ hostIn: ["http://x"] }, "/t/hostIn/0", /not a host/],
    [{ not: { not: { not: { not: { not: { not: { equals: 1 } } } } } } }, "/t/not/not/not/not/not", /deeper/],
  ])("%j", (test, path, reason) => {
    expect(issuesOf(test)).toContainEqual(
      expect.objectContaining({ path, reason: expect.stringMatching(reason) }),
    );
  });

  it("suggest the key that was probably meant", () => {
    expect(issuesOf({ equal: 1 })[0]?.suggestion).toBe('did you mean "equals"?');
  });
});
