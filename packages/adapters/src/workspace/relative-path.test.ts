import { describe, expect, it } from "vitest";
import { keyOf } from "./plan.ts";
import { byPath, folderOf, isWithin, nameOf, partsOf } from "./relative-path.ts";

describe("a path in a workspace", () => {
  it.each([
    ["a/b", ["a", "b"]],
    ["./a//b/.", ["a", "b"]],
    ["", []],
    [".", []],
    ["a\nb", ["a\nb"]],
    ["...", ["..."]],
  ])("%j has the parts %j", (path, parts) => expect(partsOf(path)).toEqual(parts));

  it.each(["/etc/passwd", "..", "a/../b", "a/..", "a\0b", "\ud800", "x".repeat(5_000)])(
    "is refused when it is %j [E3105]",
    (path) => {
      expect(() => partsOf(path)).toThrow(
        expect.objectContaining({ failure: expect.objectContaining({ code: "E3105" }) }),
      );
    },
  );

  it("sorts folders before what is in them", () => {
    const paths = ["a-b", "a/b", "a", "a/b/c", "B"].map((path) => ({ path }));
    const sorted = paths.sort(byPath).map(({ path }) => path);
    expect(sorted.indexOf("a")).toBeLessThan(sorted.indexOf("a/b"));
    expect(sorted.indexOf("a/b")).toBeLessThan(sorted.indexOf("a/b/c"));
  });

  it("knows its folder and its name", () => {
    expect([folderOf("a/b/c"), nameOf("a/b/c"), folderOf("a"), nameOf("a")]).toEqual(["a/b", "c", "", "a"]);
    expect([isWithin("a/b", "a"), isWithin("ab", "a"), isWithin("a", "a"), isWithin("x", "")]).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });
});

describe("a record's name", () => {
  it("is the id where it can be, and never leads anywhere", () => {
    expect(keyOf("01890a5d-ac96-774b-bcce-b302099a8057")).toBe("01890a5d-ac96-774b-bcce-b302099a8057");
    for (const id of ["../../etc", "a/b", "", ".", "x".repeat(200), "a.undo", "ü"])
      expect(keyOf(id)).toMatch(/^h-[0-9a-f]{40}$/);
    expect(keyOf("a/b")).not.toBe(keyOf("a/c"));
  });
});
