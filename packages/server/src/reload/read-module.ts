import { hash } from "node:crypto";
import { pathToFileURL } from "node:url";
import { type MessagePort, Worker } from "node:worker_threads";
import type { ProcessProgram } from "@sallyport/engine/ports";
import { openTypeStripper, sourceThreadEnv } from "@sallyport/engine/threads";
import { type Failure, failure, type ToolManifest } from "@sallyport/protocol";
import { notLoaded } from "../tools/load-module.ts";

/** A tool as its module has it, without its functions. */
export interface FoundTool {
  manifest: ToolManifest;
  /** Of a tool made of commands. */
  programs: Readonly<Record<string, ProcessProgram>>;
}

/** What a module exports, and the files it is made of. */
export interface FoundModule {
  tools: FoundTool[];
  files: { path: string; digest: string }[];
}

/** What the thread is given: the module, and where its types are stripped. */
export interface ModuleOrder {
  url: string;
  types: MessagePort;
}

const LOAD_MS = 10_000;

/**
 * Reads a module anew, whatever of it this process has loaded before, and runs nothing of it here. E3920 when it cannot
 * be loaded, takes too long or exports no tool.
 */
export async function readModule(path: string): Promise<FoundModule | Failure> {
  const entry = import.meta.url.endsWith(".ts") ? "./module-thread.ts" : "./module-thread.js";
  // Like the threads tools run in: no flags and nothing of the environment. What it prints is nobody's business.
  const file = new URL(entry, import.meta.url);
  const types = openTypeStripper();
  const worker = new Worker(file, {
    workerData: { url: pathToFileURL(path).href, types } satisfies ModuleOrder,
    transferList: [types],
    ...{ env: sourceThreadEnv(file), execArgv: [], stdout: true, stderr: true, stdin: false },
  });
  worker.stdout.resume();
  worker.stderr.resume();
  try {
    const found = await answerOf(worker);
    if (found.tools.length > 0) return found;
    return failure("E3920", {
      message: `The module ${path} exports no tool.`,
      advice: "Export what defineTool() returns, by name or as default.",
    });
  } catch (error) {
    return notLoaded(path, error);
  } finally {
    await worker.terminate();
  }
}

function answerOf(worker: Worker): Promise<FoundModule> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`it did not finish loading in ${LOAD_MS} ms`)), LOAD_MS);
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("it ended its thread while it was loaded")));
    worker.once("exit", () => clearTimeout(timer));
  });
}

/** Differs whenever any file of the module does. */
export function signatureOf({ files }: FoundModule): string {
  return hash("sha256", JSON.stringify(files.map(({ path, digest }) => [path, digest]))).slice(0, 16);
}
