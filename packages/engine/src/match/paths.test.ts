import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { folderWithin, type PlainPath, pathInside, readPath } from "./paths.ts";
import { NO, UNSURE, YES } from "./truth.ts";

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
  ])("%s in %s is %i", (path, folder, truth) => expect(pathInside(plain(path), plain(folder))).toBe(truth));

  it("is in doubt for a whole folder that only overlaps", () => {
    expect(folderWithin(plain("/"), plain("/etc"))).toBe(UNSURE);
    expect(folderWithin(plain("/etc/ssl"), plain("/etc"))).toBe(YES);
    expect(folderWithin(plain("/srv"), plain("/etc"))).toBe(NO);
  });

  it("follows whatever the text climbs to", () => {
    expect(pathInside(plain("/srv/data/../../etc/passwd"), plain("/srv/data"))).toBe(NO);
    expect(pathInside(plain("/srv/data/../../etc/passwd"), plain("/etc"))).toBe(YES);
  });
});
