import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { coversResource, hostOf } from "../authorise/grant/grant-scope.ts";
import { matchesArgument } from "../authorise/standing-grant.ts";
import { scaledRuns } from "../testing/store-samples.ts";
import { compileArgumentTest } from "./argument-test.ts";
import { DocumentNode } from "./document.ts";
import { compilePatterns, compileResources, matchesAny } from "./patterns.ts";
import { NO, UNSURE, YES } from "./truth.ts";

const text = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 8 });
const pattern = fc.string({ unit: fc.constantFrom("a", "b", ".", "*"), maxLength: 8 });

/** What `*` means, said with a regular expression. */
function model(patterns: string[], name: string): boolean {
  return patterns.some((one) => {
    const source = one.split("*").map((part) => part.replaceAll(".", "\\."));
    return new RegExp(`^${source.join("[^]*")}$`).test(name);
  });
}

describe("name patterns", () => {
  it("mean the same compiled or not, and what `*` means", () => {
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 3 }), text, (patterns, name) => {
        expect(compilePatterns(patterns)(name)).toBe(model(patterns, name));
        expect(matchesAny(patterns, name)).toBe(model(patterns, name));
      }),
    );
  });
});

/** What clients would take elsewhere than the text says, or read differently from each other. */
const HOSTILE_TAILS = [
  ...[
    "../admin",
    ".\t./admin",
    ".\n./admin",
    "\r../admin",
    "..?x",
    "..#x",
    ".?x",
    ".. #x",
    "..;/admin",
    "..;x=1",
  ],
  ...["%2e%2e/admin", ".%2E/admin", "%2e./admin?x", "..%2fadmin", "..%5cadmin", "..%3b/admin", "..%00/admin"],
  ...[
    "%252e%252e/admin",
    "..%252fadmin",
    "%252%65%252%65/admin",
    "%25%32%65%25%32%65/admin",
    "%%32%65%%32%65/admin",
  ],
  ...[`${"%".repeat(20)}${"3".repeat(18)}2e/admin`, "..%20/admin", "..%3fx", "..%23x", "..\\admin", "x\\y"],
  ...["\u0000", "x\u007f", "x\n", "@evil/../../x"],
];
const HOSTILE = [
  ...HOSTILE_TAILS.map((tail) => `http://host/data/${tail}`),
  ...[
    "http://host/data\\..\\admin",
    " http://host/data/x",
    "\u0000http://host/data/x",
    "ht\ttp://host/data/x",
  ],
  ...["http:\\\\host\\data\\x", "http://user@host/data/x"],
];
const HOSTILE_PATHS = [
  ...["/data/../etc/passwd", "/data/..", "/data/./x", "/data/.//../x", "/data//../x", "/data/..%2fetc"],
  ...["/data/%2e%2e/etc", "/data/x\u0000.txt", "/data/x\n", "/data/..\\etc", "/data/x\\..\\y", "/data/\\x"],
];
const HOSTILE_HOSTS = [
  ...["evil.com%00.example.com", "http://evil.com%00.example.com/", "tcp://evil.com%2f.example.com"],
  ...[
    "tcp://evil.com%2f.example.com:443/x",
    "tcp://evil.com\\.example.com",
    "http://evil.com\\.example.com/",
  ],
  ...["http://evil.com\t/.example.com", "evil.com\u0000.example.com", "evil.com/.example.com"],
  ...["http://evil.com#.example.com", "http://evil.com?.example.com", "http://a.example.com@evil.com/"],
  ...["evil.com@a.example.com@x", "http:evil.com/.example.com", "http:///evil.com/.example.com"],
  ...["evil.com:80.example.com", "http://evil.com%23.example.com", "tcp://evil.com%3f.example.com"],
  "tcp://evil.com .example.com",
];

const policyTest = (test: object) => {
  const compiled = compileArgumentTest(DocumentNode.of(test));
  if (!compiled) throw new Error("the test does not compile");
  return compiled;
};

describe("a resource that names something else than it says", () => {
  it.each([
    ...HOSTILE.map((text) => ["http://host/data/", text] as const),
    ...HOSTILE_PATHS.map((text) => ["/data/", text] as const),
  ])("is not below %j: %j [R3-2] [FR-APR-04] [X-14]", (prefix, text) => {
    const glob = `${prefix}*`;
    expect(coversResource([glob], text)).toBe(false);
    expect(matchesArgument({ pointer: "/u", match: { glob } }, { u: text })).toBe(false);
    expect(matchesArgument({ pointer: "/u", match: { prefix } }, { u: text })).toBe(false);
    expect(policyTest({ glob })(text)).not.toBe(YES);
    expect(policyTest({ regex: `^${prefix}` })(text)).not.toBe(YES);
  });

  it.each(HOSTILE_HOSTS)("is on no allowed host: %j [R3-2] [X-14]", (text) => {
    const host = hostOf(text);
    expect(host === undefined || !coversResource(["*.example.com"], host)).toBe(true);
    expect(policyTest({ hostIn: ["*.example.com"] })(text)).not.toBe(YES);
  });

  it.each([
    ["http://host/admin*", "http://host/data/.\t./admin", UNSURE],
    ["http://host/admin*", "http://host/data/..%2fadmin", UNSURE],
    ["/etc/*", "/data/../etc/passwd", UNSURE],
    ["http://host/admin*", "http://host/%61dmin", YES],
    ["http://host/admin/*", "http://host./admin/x", YES],
    ["http://127.0.0.1/*", "http://[::ffff:127.0.0.1]/x", YES],
    ["redis://prod/*", "redis://PROD./x", YES],
    ["http://host/admin/*", "http://host/admin%2fx", UNSURE],
    ["http://host/admin/*", "http://host//admin/x", UNSURE],
    ["http://host/admin/*", "http://host/admin;a=b/x", UNSURE],
    ["http://host/admin/*", "http://host/%2561dmin/x", UNSURE],
    ["http://host/a%2Fb/*", "http://host/a/b/c", UNSURE],
    ["/etc/*", "file:///etc/passwd", UNSURE],
    ["file:///etc/*", "/etc/passwd", UNSURE],
    ["/etc/*", "/data/x", NO],
    ["rm *", "cat\nfile", NO],
    ["git *", "git status\nrm -rf /", UNSURE],
    ["*", "two\nlines", YES],
  ])("leaves a policy's glob %j in doubt about %j where it may be meant", (glob, text, truth) => {
    expect(policyTest({ glob })(text)).toBe(truth);
  });
});

describe("a resource that is what it says", () => {
  it.each([
    ["http://host/data/*", "http://host/data/a/b?c=d#e"],
    ["http://host/data/*", "HTTP://HOST:80/data/a b"],
    ["http://HOST:80/data/*", "http://host/data/x"],
    ["http://host", "http://host/"],
    ["http://host/a%2fb/*", "http://host/a%2Fb/%63"],
    ["https://*", "https://example.com/x"],
    ["http*://host:*/x*", "https://host:8443/x/y"],
    ["https://*.example.com/*", "https://a.example.com/..x/y.."],
    ["/data/*", "/data/x//y"],
    ["/data/", "/data/"],
    ["npm run *", "npm run build -- --out ./dist"],
    ["a/*", "a/1"],
  ])("%j covers %j", (glob, text) => {
    expect(compileResources([glob])(text)).toBe(YES);
  });

  it.each([
    ["https://*.example.com/*", "https://evil.com/x.example.com/y"],
    ["https://*.example.com/*", "https://evil.com/?.example.com/y"],
    ["https://*.example.com/*", "https://evil.com/#.example.com/y"],
    ["https://*.example.com", "https://evil.com/.example.com"],
    ["http*://host/*", "http://evil.com/s://host/x"],
  ])("%j does not cover another host's %j [R3-2]", (glob, text) => {
    expect(compileResources([glob])(text)).toBe(NO);
  });

  it("a prefix without a path does not reach into longer host names", () => {
    const match = { prefix: "http://host" };
    expect(matchesArgument({ pointer: "", match }, "http://host/x")).toBe(true);
    expect(matchesArgument({ pointer: "", match }, "http://host.evil.com/x")).toBe(false);
  });
});

describe("whatever matches `prefix/*`", () => {
  const piece = fc.constantFrom(..."a . .. / // \\ %2e %2f %5c %25 ? # ; \t \n \0 @ : admin".split(" "), " ");
  const tail = fc.array(piece, { maxLength: 8 });

  it("is requested below the prefix by every client [R3-2] [X-14]", () => {
    let matched = 0;
    fc.assert(
      fc.property(tail, (parts) => {
        const text = `http://host/data/${parts.join("")}`;
        if (compileResources(["http://host/data/*"])(text) !== YES) return;
        matched += 1;
        const { host, pathname } = new URL(text);
        expect(host).toBe("host");
        expect(pathname.startsWith("/data/")).toBe(true);
        expect(new URL(decodeURIComponent(pathname), "http://host").pathname.startsWith("/data/")).toBe(true);
      }),
      { numRuns: scaledRuns(1_000) },
    );
    expect(matched).toBeGreaterThan(20);
  });
});
