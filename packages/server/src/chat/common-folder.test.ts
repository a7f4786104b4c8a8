import { SallyportError } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { commonFolder } from "./chat-tools.ts";

describe("the folder that holds all roots", () => {
  it.each([
    [["/a/b"], "/a/b"],
    [["/a/b", "/a/b/c"], "/a/b"],
    [["/a/b/c", "/a/b"], "/a/b"],
    [["/a/bc", "/a/b"], "/a"],
    [["/a/x/1", "/a/y/1", "/a/x/2"], "/a"],
  ])("of %j is %s [CFG-SBX-01]", (roots, common) => {
    expect(commonFolder(roots)).toBe(common);
  });

  it("is none where that would be the whole disk", () => {
    expect(() => commonFolder(["/a", "/b"])).toThrow(SallyportError);
  });
});
