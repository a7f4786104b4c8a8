/**
 * What no call may change unless its caller says otherwise: code that git or Sallyport would run, and what decides what
 * is allowed. Rules are the caller's; these are here to be passed on.
 */
export const DEFAULT_DENIED: readonly string[] = [
  ".git/hooks/**",
  ".git/config",
  ".git/config.worktree",
  ".git/info/attributes",
  ".git/modules/**/hooks/**",
  ".git/modules/**/config",
  ".git/worktrees/**/config.worktree",
  ".sallyport/**",
  "sallyport.yaml",
  "sallyport.yml",
];

/** Whether a path may be neither shown nor changed. */
export type DeniedTest = (path: string) => boolean;

/**
 * Compiles patterns: `*` and `?` stay within one part of a path, `**` crosses folders, `a/**` means `a` and all in it.
 * A path is denied when it, or a folder it is in, matches. Letters match in either case: a file system may not tell them
 * apart, and git does not for its own folder.
 */
export function compileDenied(patterns: readonly string[]): DeniedTest {
  const tests = patterns.map(compile);
  if (tests.length === 0) return () => false;
  return (path) => withAncestors(path).some((one) => tests.some((test) => test.test(one)));
}

function compile(pattern: string): RegExp {
  const plain = pattern.replace(/^\.?\/+/, "").replace(/\/+$/, "");
  const source = plain
    .split("/")
    .map((part, index, all) => {
      if (part === "**") return acrossFolders(index, all.length - 1);
      const text = part
        .replace(/[\\^$.|+()[\]{}]/g, "\\$&")
        .replace(/\*+/g, "[^/]*")
        .replace(/\?/g, "[^/]");
      return index === 0 || all[index - 1] === "**" ? text : `/${text}`;
    })
    .join("");
  return new RegExp(`^${source}$`, "isu");
}

function acrossFolders(index: number, last: number): string {
  if (index === last) return index === 0 ? ".*" : "(?:/.*)?";
  return index === 0 ? "(?:.*/)?" : "(?:/.*)?/";
}

function withAncestors(path: string): string[] {
  const all: string[] = [];
  for (let cut = path.indexOf("/"); cut !== -1; cut = path.indexOf("/", cut + 1))
    all.push(path.slice(0, cut));
  return [...all, path];
}
