import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileDenied, DEFAULT_DENIED, HIGH_RISK } from "./denied-paths.ts";

/** The meaning of a pattern in its plainest form: `**` and then a slash are any folders or none. */
function matchesSlowly(pattern: string, path: string): boolean {
  const [head = "", ...rest] = pattern.split("/");
  const parts = path.split("/");
  const matches = (wanted: string[], given: string[]): boolean => {
    const [first, ...later] = wanted;
    if (first === undefined) return true;
    if (first === "**") return [...given, ""].some((_, n) => matches(later, given.slice(n)));
    const test = new RegExp(`^${first.replaceAll("*", ".*").replaceAll("?", ".")}$`, "i");
    return given[0] !== undefined && test.test(given[0]) && matches(later, given.slice(1));
  };
  return matches([head, ...rest], parts);
}

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

  it("match as one regular expression over each ancestor does, whatever was asked before", () => {
    const part = fc.constantFrom("a", "b", "ab", "*", "?b", "a*");
    const pattern = fc
      .array(fc.oneof(part, fc.constant("**")), { minLength: 1, maxLength: 5 })
      .map((parts) => parts.join("/"));
    const path = fc
      .array(fc.constantFrom("a", "b", "ab", "A", "c"), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.join("/"));
    fc.assert(
      fc.property(
        fc.array(pattern, { minLength: 1, maxLength: 4 }),
        fc.array(path, { minLength: 1, maxLength: 8 }),
        (patterns, paths) => {
          const isDenied = compileDenied(patterns);
          for (const one of paths)
            expect(isDenied(one)).toBe(patterns.some((text) => matchesSlowly(text, one)));
        },
      ),
    );
  });

  it("cost as much as a tree has entries, however deep it is", () => {
    const isDenied = compileDenied([...DEFAULT_DENIED, ...HIGH_RISK]);
    const folder = Array.from({ length: 400 }, (_, n) => `folder-${n}`);
    let tests = 0;
    const original = RegExp.prototype.test;
    RegExp.prototype.test = function (this: RegExp, text: string) {
      tests += 1;
      return original.call(this, text);
    };
    try {
      for (let depth = 1; depth <= folder.length; depth += 1)
        for (const file of ["a", "b", "c"]) isDenied([...folder.slice(0, depth), file].join("/"));
    } finally {
      RegExp.prototype.test = original;
    }
    // Each folder and each file once, by each pattern; an ancestor more than once would be 400 times as much.
    expect(tests).toBeLessThan(4 * folder.length * (DEFAULT_DENIED.length + HIGH_RISK.length) * 1.1);
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
