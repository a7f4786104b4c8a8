import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import { stripTypesWith } from "@sallyport/engine/threads";
import type { FoundModule, FoundTool, ModuleOrder } from "./read-module.ts";

// What runs inside the thread that looks at a module: import it, say what it exports and what it is made of, and end.
// Its top level is code too; whatever it does ends with this thread.

/** The mark that `defineTool` puts on a tool. */
const TOOL_MARK = Symbol.for("sallyport.tool");
const files = new Set<string>();

const { url: moduleUrl, types }: ModuleOrder = workerData;
stripTypesWith(types);
registerHooks({
  load(url, context, next) {
    if (url.startsWith("file:") && !url.includes("/node_modules/")) files.add(url);
    return next(url, context);
  },
});

const exported: object = await import(moduleUrl);
const tools = [...new Set(Object.values(exported).flat())].filter(isTool);
const found: FoundModule = { tools: tools.map(facts), files: [...files].sort().map(digest) };
parentPort?.postMessage(found);

function isTool(value: unknown): value is FoundTool {
  return typeof value === "object" && value !== null && Reflect.get(value, TOOL_MARK) === true;
}

/** Without the functions, which stay in this thread. */
function facts({ manifest, programs }: FoundTool): FoundTool {
  return { manifest, programs };
}

function digest(url: string): FoundModule["files"][number] {
  const path = fileURLToPath(url);
  return { path, digest: hash("sha256", readFileSync(path)) };
}
