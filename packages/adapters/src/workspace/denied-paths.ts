import type { Change } from "./change.ts";
import { nameOf } from "./relative-path.ts";

/**
 * What no call may read or change unless its caller says otherwise: what git, a shell or an editor runs by itself, and
 * what decides what Sallyport allows (D-15). Rules are the caller's; these are here to be passed on.
 */
export const DEFAULT_DENIED: readonly string[] = [
  // A folder `x.git` is a bare repository. `commondir` moves the configuration elsewhere; a todo list holds commands.
  "**/*.git/hooks/**",
  "**/*.git/config",
  "**/*.git/config.worktree",
  "**/*.git/commondir",
  "**/*.git/info/attributes",
  "**/*.git/rebase-merge/**",
  "**/*.git/modules/**/hooks/**",
  "**/*.git/modules/**/config",
  "**/*.git/modules/**/config.worktree",
  "**/*.git/modules/**/commondir",
  "**/*.git/modules/**/rebase-merge/**",
  "**/*.git/worktrees/**/config.worktree",
  "**/*.git/worktrees/**/commondir",
  "**/*.git/worktrees/**/rebase-merge/**",
  // A home folder's own, which repositories include too; Mercurial and Jujutsu run what theirs name.
  "**/.gitconfig",
  "**/.config/git/**",
  "**/.hg/hgrc*",
  "**/.jj/**/config.toml",
  "**/.githooks/**",
  "**/.husky/**",
  "**/.envrc",
  "**/.vscode/tasks.json",
  "**/.vscode/settings.json",
  "**/*.code-workspace",
  "**/.devcontainer/**",
  "**/.devcontainer.json",
  "**/.exrc",
  "**/.nvimrc",
  "**/.nvim.lua",
  "**/.gdbinit",
  "**/.lldbinit",
  ".sallyport/**",
  "sallyport.yaml",
  "sallyport.yml",
];

/**
 * What common tools run when somebody builds, tests, installs or pushes. Changes are often meant, so they are not
 * denied: every effect on one is shown as high risk (D-15).
 */
export const HIGH_RISK: readonly string[] = [
  "**/node_modules/.bin/**",
  "**/package.json",
  "**/.npmrc",
  "**/.pnpmfile.cjs",
  "**/.pnp.cjs",
  "**/.yarnrc*",
  "**/.yarn/**",
  "**/.pre-commit-config.yaml",
  "**/*lefthook*.*",
  "**/.lefthook/**",
  "**/*mise.toml",
  "**/.mise/**",
  "**/.github/**",
  "**/.gitlab-ci.yml",
  "**/.circleci/**",
  "**/Jenkinsfile",
  "**/.idea/**",
  "**/.vscode/**",
  "**/.cursor/**",
  "**/.claude/**",
  "**/.mcp.json",
  "**/.dir-locals.el",
  "**/Makefile",
  "**/GNUmakefile",
  "**/.cargo/**",
  "**/build.rs",
  "**/.mvn/**",
  "**/mvnw*",
  "**/gradlew*",
  "**/gradle/wrapper/**",
  "**/*.gradle",
  "**/*.gradle.kts",
  "**/conftest.py",
  "**/sitecustomize.py",
  "**/usercustomize.py",
  "**/*.pth",
  "**/.bashrc",
  "**/.bash_profile",
  "**/.profile",
  "**/.zshrc",
  "**/.zshenv",
];

/**
 * Whether a change gives git another repository to obey: a `.git` that is new or is no folder, or the `HEAD` that makes
 * any folder a bare one. The type decides, so no pattern can say it.
 */
export function makesRepository({ path, before, after }: Change): boolean {
  if (!after) return false;
  if (nameOf(path).toLowerCase() === ".git") return after.type !== "folder" || before?.type !== "folder";
  return nameOf(path) === "HEAD" && after.type !== "folder" && !/(?:^|\/)\.git\//iu.test(path);
}

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
