import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hostsWithin, readHost, readHostPattern } from "./hosts.ts";
import { NO, UNSURE, YES } from "./truth.ts";

const nameOf = (text: string) => readHost(text)?.name;

describe("reading a host", () => {
  it.each([
    ["Example.COM", "example.com"],
    ["example.com.", "example.com"],
    ["example.com:8443/path?q#f", "example.com"],
    ["https://user:secret@example.com/x", "example.com"],
    ["https://trusted.org@evil.example", "evil.example"],
    ["https://evil.example#@trusted.org", "evil.example"],
    ["https://evil.example?@trusted.org/", "evil.example"],
    ["//example.com/x", "example.com"],
    ["postgres://u@DB.Example.com:5432/x", "db.example.com"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["ｅxample。com", "example.com"],
    ["[::1]:80", "[::1]"],
    ["::1", "[::1]"],
    ["[0:0:0:0:0:0:0:1]", "[::1]"],
    ["http://[::ffff:10.1.2.3]/", "10.1.2.3"],
    ["0x7f.1", "127.0.0.1"],
    ["2130706433", "127.0.0.1"],
  ])("%s is %s", (text, name) => expect(nameOf(text)).toBe(name));

  it.each([
    ["nothing", ""],
    ["two @, read differently by different programs", "https://a@b@c"],
    ["a backslash, a slash to some", "https://good.example\\@evil.example"],
    ["a percent sign in the host, decoded by some", "http://ex%61mple.com"],
    ["a tab, dropped by some", "http://exa\tmple.com"],
    ["a scheme without its slashes", "https:evil.example"],
    ["one slash too few", "https:/evil.example"],
    ["one slash too many", "https:///evil.example"],
    ["an address for copying files", "git@example.com:org/repository"],
    ["a file", "file:///etc/passwd"],
    ["two dots at the end", "example.com.."],
    ["a port that is none", "example.com:99999"],
    ["a star", "*.example.com"],
    ["a zone of an interface", "fe80::1%eth0"],
  ])("cannot tell from %s", (_why, text) => expect(readHost(text)).toBeUndefined());

  it("takes the port from the text, else from the scheme, else none", () => {
    expect(readHost("https://a.example")?.port).toBe(443);
    expect(readHost("https://a.example:8443")?.port).toBe(8443);
    expect(readHost("a.example")?.port).toBeUndefined();
  });

  it("agrees with the URL parser on every ordinary URL, and never throws", () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        const { hostname } = new URL(url);
        expect(nameOf(url)).toBe(hostname.replace(/\.$/, ""));
      }),
      { numRuns: 40 },
    );
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void readHost(text)));
  });
});

describe("host patterns", () => {
  const within = (host: string, pattern: string) => {
    const [inner, outer] = [readHost(host), readHostPattern(pattern)];
    return inner && outer && hostsWithin(inner, outer);
  };

  it.each([
    ["prod.example.com", "prod.example.com", YES],
    ["a.prod.example.com", "*.prod.example.com", YES],
    ["a.b.prod.example.com", "*.prod.example.com", YES],
    ["prod.example.com", "*.prod.example.com", NO],
    ["notprod.example.com", "*.prod.example.com", NO],
    ["prod.example.com.evil.org", "prod.example.com", NO],
    ["evilprod.example.com", "prod.example.com", NO],
    ["anything.org", "*", YES],
    ["https://a.example", "a.example:443", YES],
    ["http://a.example", "a.example:443", NO],
    ["a.example", "a.example:443", UNSURE],
    ["a.example:443", "*:443", YES],
  ])("%s in %s is %i", (host, pattern, truth) => expect(within(host, pattern)).toBe(truth));

  it("compare sets of hosts: inside, apart, or in doubt where they overlap", () => {
    const sets = (inner: string, outer: string) => {
      const [a, b] = [readHostPattern(inner), readHostPattern(outer)];
      return a && b && hostsWithin(a, b);
    };
    expect(sets("*.example.com", "*.example.com")).toBe(YES);
    expect(sets("*.prod.example.com", "*.example.com")).toBe(YES);
    expect(sets("*.example.com", "prod.example.com")).toBe(UNSURE);
    expect(sets("*", "prod.example.com")).toBe(UNSURE);
    expect(sets("*.example.org", "*.example.com")).toBe(NO);
  });

  it.each([
    "http://a.example",
    "a*b.example",
    "*.*.example",
    "*.10.0.0.1",
    "a@b",
    "a.example:99999",
    "*:99999",
  ])("refuse %s", (pattern) => expect(readHostPattern(pattern)).toBeUndefined());
});
