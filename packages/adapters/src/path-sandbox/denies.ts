import { compileDenied } from "../workspace/denied-paths.ts";
import { foldName } from "./fold-name.ts";
import { badSandbox } from "./refusals.ts";
import { shownPath } from "./shown-path.ts";

const MOST_PATTERN = 256;
const MOST_CROSSINGS = 3;
/** What other pattern languages mean something by. Taken literally such a pattern would silently deny nothing. */
const FOREIGN = /[[\]{}\\]|^!|^~/;

/**
 * What a pattern is held against, as folded text. `names`: that many names in a row, wherever they stand, which is
 * quick and covers nearly all patterns. `path`: the path from the top. `root`: the path from each root it is in.
 */
type DenyPattern =
  | { pattern: string; against: "names"; count: number; test(names: string): boolean }
  | { pattern: string; against: "path" | "root"; test(path: string): boolean };

/**
 * A pattern without a slash means that name anywhere, as in other tools: to deny too little would be the worse
 * mistake. One that starts with `/` or a drive is about the whole path, any other is relative to each root.
 */
function compileDeny(pattern: string): DenyPattern {
  requireUsable(pattern);
  const folded = foldName(pattern);
  const names = folded.split("/").filter((name) => name !== "" && name !== ".");
  const fromTop = folded.startsWith("/") || /^[a-z]:\//.test(folded);
  const anywhere = !fromTop && (names.length === 1 || names[0] === "**");
  const tail = names.slice(names[0] === "**" ? 1 : 0, names.at(-1) === "**" ? -1 : undefined);
  if (anywhere && tail.length > 0 && !tail.includes("**"))
    return { pattern, against: "names", count: tail.length, test: compileDenied([tail.join("/")]) };
  return { pattern, against: fromTop || anywhere ? "path" : "root", test: compileDenied([names.join("/")]) };
}

function requireUsable(pattern: string): void {
  const say = (why: string, advice: string) =>
    badSandbox(`The denied pattern ${shownPath(pattern)} ${why}.`, advice);
  if (pattern.trim() === "" || /^[./]+$/.test(pattern)) throw say("names nothing", "Leave it out.");
  if (pattern.length > MOST_PATTERN) throw say("is too long", `Use at most ${MOST_PATTERN} characters.`);
  if (FOREIGN.test(pattern))
    throw say(
      "has signs that mean nothing here",
      "Use only *, ? and **, with / between names, one pattern a case.",
    );
  const names = pattern.split("/");
  if (names.includes("..")) throw say('has ".." in it', "Name the place itself.");
  if (names.filter((name) => name === "**").length > MOST_CROSSINGS)
    throw say("crosses folders too often", `Use ** at most ${MOST_CROSSINGS} times.`);
}

/** The pattern that denies a canonical path or a folder it is in; undefined when none does. */
export type DenyTest = (path: string) => string | undefined;

/** Compiles patterns for paths in these roots. Throws E3919 for a pattern that cannot mean what it says. */
export function compileDenies(patterns: readonly string[], roots: readonly string[]): DenyTest {
  const denies = [...new Set(patterns)].map(compileDeny);
  const folders = roots.map(plainText);
  return (path) => {
    const whole = plainText(path);
    const names = whole.split("/");
    const views = { whole, names, fromRoots: folders.flatMap((folder) => below(whole, folder)) };
    return denies.find((deny) => isDeniedBy(deny, views))?.pattern;
  };
}

interface Views {
  whole: string;
  names: readonly string[];
  fromRoots: readonly string[];
}

function isDeniedBy(deny: DenyPattern, { whole, names, fromRoots }: Views): boolean {
  if (deny.against === "names") return namesInARow(names, deny.count).some(deny.test);
  return deny.against === "path" ? deny.test(whole) : fromRoots.some(deny.test);
}

function namesInARow(names: readonly string[], count: number): readonly string[] {
  return count === 1 ? names : names.map((_, start) => names.slice(start, start + count).join("/"));
}

/** Folded, with `/` between names and none in front. */
function plainText(path: string): string {
  const forward = process.platform === "win32" ? path.replaceAll("\\", "/") : path;
  return foldName(forward).replace(/^\/+|\/+$/g, "");
}

function below(path: string, folder: string): string[] {
  if (folder === "") return [path];
  return path.startsWith(`${folder}/`) ? [path.slice(folder.length + 1)] : [];
}
