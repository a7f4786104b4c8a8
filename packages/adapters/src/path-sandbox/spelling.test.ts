import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { spellingRefusal } from "./spelling.ts";

const posix = { allowAbsolute: false, windows: false };
const windows = { allowAbsolute: false, windows: true };
const codeOf = (path: string, rules = posix) => spellingRefusal(path, rules)?.code;

describe("the spelling of a path", () => {
  it("with .. as a whole name is refused wherever it stands, and only then [T-SBX-01] [FR-VAL-04] [NFR-SEC-01]", () => {
    const name = fc.constantFrom("a", ".", "...", "..a", "a..", "..", "");
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 8 }), (names) => {
        const path = `x/${names.join("/")}`;
        expect(codeOf(path)).toBe(names.includes("..") ? "E3955" : undefined);
      }),
    );
  });

  it("as absolute is refused unless that is allowed [T-SBX-02] [FR-VAL-04]", () => {
    expect(codeOf("/etc/hosts")).toBe("E3955");
    expect(codeOf("/etc/hosts", { ...posix, allowAbsolute: true })).toBeUndefined();
    expect(codeOf("/etc/../hosts", { ...posix, allowAbsolute: true })).toBe("E3955");
  });

  it.each<[path: string, code: string | undefined, why: string]>([
    ["..\\x", "E3955", "upwards by a backslash"],
    ["a\\..\\..\\x", "E3955", "in the middle"],
    ["a/..\\x", "E3955", "mixed"],
    ["C:\\x", "E3955", "a drive"],
    ["c:x", "E3955", "relative to a drive"],
    ["\\x", "E3955", "the current drive"],
    ["\\\\server\\share\\x", "E3955", "a share"],
    ["//server/share/x", "E3955", "a share with slashes"],
    ["\\\\?\\C:\\x", "E3955", "a long path"],
    ["a:stream", "E3955", "a drive of one letter"],
    ["ab:stream", "E3901", "a stream"],
    ["a/b.txt::$DATA", "E3901", "the stream of the content"],
    ["a.pem.", "E3901", "an ending that is dropped"],
    ["a.pem ", "E3901", "another"],
    [".. /x", "E3901", "which would leave .."],
    ["a/CON", "E3901", "a device"],
    ["nul.txt", "E3901", "a device with an ending"],
    ["a\\b.txt", undefined, "an ordinary path"],
    ["./a", undefined, "a dot"],
    ["console.log", undefined, "no device"],
  ])("on Windows: %s is %s (%s) [FR-VAL-04] [NFR-SEC-01]", (path, code) => {
    expect(codeOf(path, windows)).toBe(code);
  });

  it("names a device of Windows in no case", () => {
    const rules = { windows: true, allowAbsolute: true };
    expect(codeOf("C:\\work\\x.txt", rules)).toBeUndefined();
    for (const path of ["\\\\.\\pipe\\x", "\\\\?\\C:\\x", "//./nul", "C:x\\..\\y"])
      expect(codeOf(path, rules), path).toBe("E3955");
  });

  it("is judged in order: no path, then absolute, then .. [FR-VAL-04]", () => {
    expect(codeOf("/../\0")).toBe("E3901");
    expect(spellingRefusal("/../x", posix)?.message).toContain("is absolute");
    expect(spellingRefusal("x/../y", posix)?.message).toContain('has ".." in it');
  });

  it("never gives a message that is long, of several lines, or invisible", () => {
    fc.assert(
      fc.property(
        fc
          .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
          .map((codes) => String.fromCharCode(...codes)),
        fc.integer({ min: 1, max: 50 }),
        (text, times) => {
          const refusal = spellingRefusal(`\0${text.repeat(times)}`, posix);
          expect(refusal?.message).not.toMatch(/[\p{Cc}\p{Cs}\p{Cf}\p{Zl}\p{Zp}]/u);
          expect(refusal?.message.length).toBeLessThan(2_000);
          expect(JSON.stringify(refusal?.details).length).toBeLessThan(2_000);
        },
      ),
    );
  });
});
