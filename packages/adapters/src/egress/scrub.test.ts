import { describe, expect, it } from "vitest";
import { Scrub } from "./scrub.ts";

const SECRET = `ab/cd+ef'<g&h=i"jkl`;
const HEAD = `GET / HTTP/1.1\r\nAuthorization: Bearer ${SECRET}\r\nAccept: */*\r\n`;

describe("a secret as common programs write it into an answer [D-16]", () => {
  it.each([
    ["JSON of PHP", String.raw`ab\/cd+ef'<g&h=i\"jkl`],
    ["JSON of Go", String.raw`ab/cd+ef'\u003cg\u0026h=i\"jkl`],
    ["JSON of Gson", String.raw`ab/cd+ef\u0027\u003cg\u0026h\u003di\"jkl`],
    ["JSON of .NET", String.raw`ab/cd\u002Bef\u0027\u003Cg\u0026h=i\u0022jkl`],
    ["HTML of Python", "ab/cd+ef&#x27;&lt;g&amp;h=i&quot;jkl"],
    ["HTML of PHP", "ab/cd+ef&#039;&lt;g&amp;h=i&quot;jkl"],
    ["a URL in small letters", "ab%2fcd%2bef'%3cg%26h%3di%22jkl"],
    ["a form", "ab%2Fcd%2Bef%27%3Cg%26h%3Di%22jkl"],
    ["a URL of Python", "ab/cd%2Bef%27%3Cg%26h%3Di%22jkl"],
    ["hexadecimal in capitals", "61622F63642B6566273C6726683D69226A6B6C"],
  ])("is masked in %s", (_, written) => {
    expect(new Scrub(SECRET, `Bearer ${SECRET}`).text(`<${written}>`)).toBe(
      `<${"*".repeat(written.length)}>`,
    );
  });

  it.each(["", ".", ".."])("is masked in the base64 of all that was sent, after %j", (before) => {
    const sent = Buffer.from(`${before}${HEAD}`).toString("base64");
    const shown = new Scrub(SECRET, `Bearer ${SECRET}`).text(sent);
    expect(shown).toHaveLength(sent.length);
    expect(shown.match(/\*+/)?.[0].length).toBeGreaterThanOrEqual(Math.floor((SECRET.length * 4) / 3) - 1);
  });
});
