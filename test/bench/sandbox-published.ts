import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { SandboxMount } from "@sallyport/engine/ports";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const ENTRY = "node_modules/@sallyport/engine/src/execute/runners/script-entry.js";

/** What a sandboxed script is started with, and the tool's module. */
export interface PublishedScript {
  node: { path: string; mounts: SandboxMount[] };
  entryUrl: string;
  moduleUrl: string;
}

/**
 * Lays out the packages as they are installed: plain JavaScript. From the sources, Node would compile types away in
 * each process, which costs a start more than the sandbox and takes as long to clear away.
 */
export function publishScript(folder: string, subject: string): PublishedScript {
  mkdirSync(join(folder, "node_modules/@sallyport"), { recursive: true });
  for (const name of readdirSync(join(REPOSITORY, "node_modules")).filter((one) => one !== "@sallyport"))
    symlinkSync(join(REPOSITORY, "node_modules", name), join(folder, "node_modules", name));
  for (const name of ["engine", "protocol"])
    publish(join(REPOSITORY, "packages", name), join(folder, "node_modules/@sallyport", name));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  writeFileSync(join(folder, "subject.js"), compiled(subject));
  const seen = [process.execPath, folder, join(REPOSITORY, "node_modules")];
  return {
    node: {
      path: process.execPath,
      mounts: seen.map((path) => ({ source: path, target: path, mode: "ro" as const })),
    },
    entryUrl: pathToFileURL(join(folder, ENTRY)).href,
    moduleUrl: pathToFileURL(join(folder, "subject.js")).href,
  };
}

function publish(from: string, to: string): void {
  const files = readdirSync(join(from, "src"), { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))) {
    const target = join(to, "src", file.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, compiled(join(from, "src", file)));
  }
  const about = readFileSync(join(from, "package.json"), "utf8");
  writeFileSync(join(to, "package.json"), about.replaceAll('.ts"', '.js"'));
}

/** Without a compiler in this process: the more it holds, the slower are the starts it measures. */
function compiled(file: string): string {
  return stripTypeScriptTypes(readFileSync(file, "utf8")).replaceAll(/("\.{1,2}\/[^"]*)\.ts"/g, '$1.js"');
}
