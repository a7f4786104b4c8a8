import { existsSync, realpathSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import type { SandboxMount } from "@sallyport/engine/ports";

const PACKAGES = ["@sallyport/engine", "@sallyport/protocol"];

/** What createScriptRunner needs to know of this host's Node. */
export interface NodeRuntime {
  /** The Node that runs this process. */
  node: { path: string; mounts: SandboxMount[] };
}

/**
 * The Node that runs this process and what a script must see besides its own package: the program itself, our packages,
 * and the `node_modules` folders that they, and modules of the project, find their dependencies in. Everything
 * read-only, at its own path.
 */
export function nodeRuntime(project?: string): NodeRuntime {
  const path = realpathSync(process.execPath);
  const folders = PACKAGES.map(packageFolder);
  const around = project === undefined ? [] : moduleFolders(project);
  const seenAt = new Set([...folders.flatMap(moduleFolders), ...around, ...folders, path]);
  const mounts = [...seenAt].map((target) => ({ source: realpathSync(target), target, mode: "ro" as const }));
  return { node: { path, mounts } };
}

function packageFolder(name: string): string {
  const found = findPackageJSON(name, import.meta.url);
  if (found === undefined) throw new Error(`the package ${name} cannot be found from ${import.meta.url}`);
  return dirname(realpathSync(found));
}

/** Where Node looks for what a package imports. */
function moduleFolders(folder: string): string[] {
  const here = join(folder, "node_modules");
  const parent = dirname(folder);
  return [...(existsSync(here) ? [here] : []), ...(parent === folder ? [] : moduleFolders(parent))];
}
