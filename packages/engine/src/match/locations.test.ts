import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scaledRuns } from "../testing/store-samples.ts";
import {
  folderWithin,
  hostsWithin,
  type PlainPath,
  pathInside,
  readHost,
  readHostPattern,
  readPath,
} from "./locations.ts";
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
      { numRuns: scaledRuns(40) },
    );
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void readHost(text)));
  });
});

describe("host patterns", () => {
  /** A host, or a set of hosts, in a set of hosts. */
  const within = (host: string, pattern: string) => {
    const [inner, outer] = [readHost(host) ?? readHostPattern(host), readHostPattern(pattern)];
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
    ["*.example.com", "*.example.com", YES],
    ["*.prod.example.com", "*.example.com", YES],
    ["*.example.com", "prod.example.com", UNSURE],
    ["*", "prod.example.com", UNSURE],
    ["*.example.org", "*.example.com", NO],
  ])("%s in %s is %i", (host, pattern, truth) => expect(within(host, pattern)).toBe(truth));

  it("refuse what is no host, or no port", () => {
    for (const wrong of [
      "http://a.example",
      "a*b.example",
      "*.*.example",
      "*.10.0.0.1",
      "a@b",
      "a.example:99999",
    ])
      expect(readHostPattern(wrong), wrong).toBeUndefined();
    expect(readHostPattern("*:99999")).toBeUndefined();
  });
});

function plain(text: string): PlainPath {
  const read = readPath(text);
  if (read === undefined) throw new Error(`${text} should be readable`);
  return read;
}

describe("reading a path", () => {
  it.each([
    ["/etc/passwd", "/etc/passwd"],
    ["/etc/./x/../passwd/", "/etc/passwd"],
    ["//etc//passwd", "/etc/passwd"],
    ["/../../etc", "/etc"],
    ["/", "/"],
    ["a/./b", "a/b"],
    ["./", ""],
    ["a/../b", "b"],
  ])("%s is %s", (text, read) => expect(readPath(text)).toBe(read));

  it.each([
    ["nothing", ""],
    ["a NUL", "/etc/\0passwd"],
    ["a line break", "/etc\n/passwd"],
    ["a way out of its base", "../x"],
    ["a longer way out of its base", "a/../../x"],
    ["a backslash", "a\\..\\b"],
    ["a home folder", "~/x"],
    ["a URL", "file:///etc/passwd"],
    ["no end", `/${"a".repeat(5_000)}`],
  ])("cannot tell from %s", (_why, text) => expect(readPath(text)).toBeUndefined());

  it("puts a relative path under its base, and never above it", () => {
    const base = plain("/srv/data");
    expect(readPath("x/y", base)).toBe("/srv/data/x/y");
    expect(readPath(".", base)).toBe("/srv/data");
    expect(readPath("../secret", base)).toBeUndefined();
    expect(readPath("/etc", base)).toBe("/etc");
    expect(readPath("etc", plain("/"))).toBe("/etc");
  });

  it("spells absolute paths as the system's own rules do", () => {
    const segment = fc.constantFrom("a", "b", "..", ".", "", "etc", "...");
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 12 }), (segments) => {
        const text = `/${segments.join("/")}`;
        const wanted = posix
          .normalize(text)
          .replace(/(?<=.)\/$/, "")
          .replace(/^\/\//, "/");
        expect(readPath(text)).toBe(wanted);
      }),
    );
  });
});

describe("a path inside a folder", () => {
  it.each([
    ["/etc", "/etc", YES],
    ["/etc/passwd", "/etc", YES],
    ["/etcetera", "/etc", NO],
    ["/", "/etc", NO],
    ["/anything", "/", YES],
    ["a/b", "a", YES],
    ["ab", "a", NO],
    ["a", "/a", UNSURE],
    ["/a", "a", UNSURE],
    ["/srv/data/../../etc/passwd", "/srv/data", NO],
    ["/srv/data/../../etc/passwd", "/etc", YES],
  ])("%s in %s is %i", (path, folder, truth) => expect(pathInside(plain(path), plain(folder))).toBe(truth));

  it("is in doubt for a whole folder that only overlaps", () => {
    expect(folderWithin(plain("/"), plain("/etc"))).toBe(UNSURE);
    expect(folderWithin(plain("/etc/ssl"), plain("/etc"))).toBe(YES);
    expect(folderWithin(plain("/srv"), plain("/etc"))).toBe(NO);
  });
});
