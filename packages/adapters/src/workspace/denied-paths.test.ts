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

  it("are by default what git, shells and editors run, and what Sallyport obeys [D-15]", () => {
    const isDenied = compileDenied(DEFAULT_DENIED);
    for (const path of [
      ".git/hooks/x",
      ".git/config",
      ".git/modules/a/b/hooks/x",
      "vendor/lib/.git/hooks/pre-commit",
      "vendor/lib/.GIT/config",
      "a/.git/commondir",
      "mirror.git/config",
      ".git/rebase-merge/git-rebase-todo",
      ".gitconfig",
      ".config/git/config",
      "a/.hg/hgrc",
      ".jj/repo/config.toml",
      "sub/.envrc",
      ".husky/pre-commit",
      "app/.vscode/tasks.json",
      ".sallyport/x",
      "sallyport.yaml",
    ])
      expect(isDenied(path), path).toBe(true);
    for (const path of [".git/index", ".git/refs/heads/main", "x/.git/HEAD", "src/config", "hooks/x"])
      expect(isDenied(path), path).toBe(false);
  });

  it("are none without patterns", () => expect(compileDenied([])("anything")).toBe(false));
});
