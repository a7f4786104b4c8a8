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
 *
 * The patterns are one automaton that reads a path part by part. Neighbours in a tree share their folders, so what was read
 * of the path before is kept as far as it is the same: a tree costs as much as it has entries, however deep it is.
 */
export function compileDenied(patterns: readonly string[]): DeniedTest {
  const steps = patterns.flatMap((pattern) => [...partsOf(pattern), "end" as const]);
  if (steps.length === 0) return () => false;
  const starts = steps.flatMap((_, index) => (index === 0 || steps[index - 1] === "end" ? [index] : []));
  const start = reach(starts, steps);
  let parts: string[] = [];
  let states: State[] = [];
  return (path) => {
    const next = path.split("/");
    let same = 0;
    while (same < parts.length && parts[same] === next[same]) same += 1;
    states = states.slice(0, same);
    for (const part of next.slice(same)) states.push(advance(states.at(-1) ?? start, part, steps));
    parts = next;
    return states.at(-1) === "denied";
  };
}

/** What a pattern wants next: a part of the path, any number of parts, or nothing more. */
type Step = RegExp | "**" | "end";

/** The steps that wait for the next part of a path, or that a pattern has matched. */
type State = readonly number[] | "denied";

/** What is in a matching folder is denied with it, so that `**` at the end adds nothing. */
function partsOf(pattern: string): Step[] {
  const parts = pattern
    .replace(/^\.?\/+/, "")
    .replace(/\/+$/, "")
    .split("/");
  const kept = parts.filter((part, index) => part !== "**" || parts[index - 1] !== "**");
  if (kept.at(-1) === "**") kept.pop();
  return kept.map((part) => (part === "**" ? part : new RegExp(`^${sourceOf(part)}$`, "isu")));
}

function sourceOf(part: string): string {
  return part
    .replace(/[\\^$.|+()[\]{}]/g, "\\$&")
    .replace(/\*+/g, ".*")
    .replace(/\?/g, ".");
}

function advance(state: State, part: string, steps: readonly Step[]): State {
  if (state === "denied") return state;
  const next = state.flatMap((index) => {
    const step = steps[index];
    if (step === "**") return [index];
    return step instanceof RegExp && step.test(part) ? [index + 1] : [];
  });
  return reach(next, steps);
}

/** The steps with those that they let through without a part: `**` may stand for none. */
function reach(indexes: readonly number[], steps: readonly Step[]): State {
  const all = new Set(indexes);
  for (const index of all) {
    if (steps[index] === "end") return "denied";
    if (steps[index] === "**") all.add(index + 1);
  }
  return [...all];
}
