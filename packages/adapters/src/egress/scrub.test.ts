import { text } from "node:stream/consumers";
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
    ["decimal entities", "ab/cd&#43;ef&#39;&#60;g&#038;h&#61i&#34;jkl"],
    ["hexadecimal entities", "ab&#x2F;cd&#x2b;ef&#x27;&lt;g&amp;h&#x3D;i&#x22;jkl"],
    ["named entities", "ab&sol;cd&plus;ef&apos;&lt;g&amp;h&equals;i&quot;jkl"],
    ["a URL that escapes some characters only", "ab%2Fcd+ef'%3Cg&h=i%22jkl"],
    ["letters that need no escape", "%61b/c\\u0064+ef'<g&h=&#x69;\"jk\\x6c"],
    ["JSON within JSON", "ab\\\\/cd\\\\u002Bef'<g&h=i\\\\\\\"jkl"],
    ["a URL within a URL", "ab%252Fcd%252Bef'%253Cg%2526h%253Di%2522jkl"],
    ["HTML within HTML", "ab/cd&amp;#x2B;ef&amp;#39;&amp;lt;g&amp;amp;h=i&amp;quot;jkl"],
    ["hexadecimal in capitals", "61622F63642B6566273C6726683D69226A6B6C"],
  ])("is masked in %s", (_, written) => {
    expect(new Scrub(SECRET, `Bearer ${SECRET}`).text(`<${written}>`)).toBe(
      `<${"*".repeat(written.length)}>`,
    );
  });

  it("is masked in pieces of any size, and nothing else is held back", async () => {
    const written = "ab&amp;#x2F;c%2564\\\\u002Bef&#39;<g&amp;h=i&quot;jkl";
    for (let size = 1; size < written.length; size += 1) {
      const stream = new Scrub(SECRET, `Bearer ${SECRET}`).stream();
      const whole = text(stream);
      const body = `<${written}> & 100% \\ ${written.slice(0, -1)}`;
      for (let at = 0; at < body.length; at += size) stream.write(body.slice(at, at + size));
      stream.end();
      expect(await whole).toBe(`<${"*".repeat(written.length)}> & 100% \\ ${written.slice(0, -1)}`);
    }
    const open = new Scrub(SECRET, `Bearer ${SECRET}`).stream();
    open.write("data: 5 & 6\n\n");
    expect(String(open.read())).toBe("data: 5 & 6\n\n");
  });

  it.each(["", ".", ".."])("is masked in the base64 of all that was sent, after %j", (before) => {
    const sent = Buffer.from(`${before}${HEAD}`).toString("base64");
    const shown = new Scrub(SECRET, `Bearer ${SECRET}`).text(sent);
    expect(shown).toHaveLength(sent.length);
    expect(shown.match(/\*+/)?.[0].length).toBeGreaterThanOrEqual(Math.floor((SECRET.length * 4) / 3) - 1);
  });
});
