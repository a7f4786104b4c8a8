import { compileDeny, type DenyPattern } from "./deny-pattern.ts";
import { foldName } from "./fold-name.ts";

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
