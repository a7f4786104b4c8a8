import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, unlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Sees to it that modules in the folder find a package of ours by this entry, such as `@sallyport/engine/tool`. Where it is
 * not installed there it is linked to the one beside this program, as `npm link` does; a link that leads nowhere is replaced.
 * Gives back the link it made; "found" when none was needed, "missing" when there is none to link to.
 */
export function linkPackage(
  folder: string,
  entry: string,
): { link: string; to: string } | "found" | "missing" {
  if (isFound(folder, entry)) return "found";
  const to = packageFolder(entry);
  if (to === undefined) return "missing";
  const link = join(folder, "node_modules", nameOf(entry));
  mkdirSync(dirname(link), { recursive: true });
  if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) unlinkSync(link);
  symlinkSync(to, link, "junction");
  return { link, to };
}

function nameOf(entry: string): string {
  return entry.split("/").slice(0, 2).join("/");
}

function isFound(folder: string, entry: string): boolean {
  try {
    createRequire(join(folder, "tools", "any.mjs")).resolve(entry);
    return true;
  } catch {
    return false;
  }
}

/** Where the package is that this process would use. */
function packageFolder(entry: string): string | undefined {
  const file = resolved(entry);
  if (file === undefined) return undefined;
  let folder = dirname(file);
  while (!isPackage(folder, nameOf(entry)) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

function resolved(entry: string): string | undefined {
  try {
    return fileURLToPath(import.meta.resolve(entry));
  } catch {
    return undefined;
  }
}

function isPackage(folder: string, name: string): boolean {
  const file = join(folder, "package.json");
  return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).name === name;
}
