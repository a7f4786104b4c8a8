import { describe, expect, it } from "vitest";
import { offLimits } from "./off-limits.ts";

describe("what a house keeps for itself", () => {
  const keeper = offLimits("/home/project", {
    denied: [".sallyport/**", "sallyport.yaml"],
    hidden: ["/home/project/state", "/home/project/odd*name", "/home/other", "/home"],
  });

  it.each([
    [".sallyport", ".sallyport/**"],
    [".sallyport/x/y", ".sallyport/**"],
    ["sallyport.yaml", "sallyport.yaml"],
    ["state/db", "state"],
    ["odd*name", "odd?name"],
  ])("names the pattern for %s [FR-VAL-02]", (path, pattern) => {
    expect(keeper(path)).toBe(pattern);
  });

  it.each(["a.txt", "sub/sallyport.yaml", "statement", ".", "other"])("leaves %s alone", (path) => {
    expect(keeper(path)).toBeUndefined();
  });

  it("is everything when the workspace itself is hidden", () => {
    expect(offLimits("/home/project", { hidden: ["/home/project"] })("a/b")).toBe("**");
  });
});
