import { describe, expect, it } from "vitest";
import { compileDenied, DEFAULT_DENIED } from "./denied-paths.ts";

describe("denied paths", () => {
  it.each<[string, string[], string[]]>([
    [
      ".git/hooks/**",
      [".git/hooks", ".git/hooks/pre-commit", ".git/hooks/a/b"],
      [".git", ".git/hooksy", "x/.git/hooks"],
    ],
    ["**/.env", [".env", "a/.env", "a/b/.env", "a/.env/x"], [".envrc", "a/.env2"]],
    ["a/**/b", ["a/b", "a/x/b", "a/x/y/b", "a/x/b/c"], ["ab", "a/xb", "b"]],
    ["*.pem", ["x.pem", "x.pem/y"], ["a/x.pem", "x.pemm"]],
    ["secret?.txt", ["secret1.txt"], ["secret.txt", "secret12.txt", "secret/.txt"]],
    ["/top/", ["top", "top/x"], ["a/top"]],
    ["a+(b)[c]", ["a+(b)[c]"], ["aabc"]],
    ["**", ["a", "a/b"], []],
    ["line\nbreak", ["line\nbreak"], ["line"]],
  ])("%s", (pattern, denied, allowed) => {
    const isDenied = compileDenied([pattern]);
    expect(denied.filter((path) => !isDenied(path))).toEqual([]);
    expect(allowed.filter(isDenied)).toEqual([]);
  });

  it("match whatever the case, as some file systems do", () => {
    expect(compileDenied([".git/config"])(".GIT/Config")).toBe(true);
  });

  it("are by default what git and Sallyport would run or obey", () => {
    const isDenied = compileDenied(DEFAULT_DENIED);
    for (const path of [
      ".git/hooks/x",
      ".git/config",
      ".git/modules/a/b/hooks/x",
      ".sallyport/x",
      "sallyport.yaml",
    ])
      expect(isDenied(path), path).toBe(true);
    for (const path of [".git/index", ".git/refs/heads/main", "src/config", "hooks/x"])
      expect(isDenied(path), path).toBe(false);
  });

  it("are none without patterns", () => expect(compileDenied([])("anything")).toBe(false));
});
