import { existsSync, realpathSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import type { SandboxMount } from "@sallyport/engine";

const PACKAGES = ["@sallyport/engine", "@sallyport/protocol", "@sallyport/adapters"];

/** What createScriptRunner needs to know of this host's Node. */
export interface NodeRuntime {
  /** The Node that runs this process. */
  node: { path: string; mounts: SandboxMount[] };
  /** Gives a tool its files where its process sees the workspace. */
  filesUrl: string;
}

/**
 * The Node that runs this process and what a script must see besides its own package: the program itself, our packages,
 * and the `node_modules` folders they find their own dependencies in. Everything read-only, at its own path.
 */
export function nodeRuntime(): NodeRuntime {
  const path = realpathSync(process.execPath);
  const folders = PACKAGES.map(packageFolder);
  const seenAt = new Set([...folders.flatMap(moduleFolders), ...folders, path]);
  const mounts = [...seenAt].map((target) => ({ source: realpathSync(target), target, mode: "ro" as const }));
  return { node: { path, mounts }, filesUrl: filesUrl() };
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

function filesUrl(): string {
  const file = import.meta.url.endsWith(".ts") ? "./workspace-files.ts" : "./workspace-files.js";
  return new URL(file, import.meta.url).href;
}
