import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { DefinedTool } from "@sallyport/engine";
import { isDefinedTool, loadProblem } from "@sallyport/engine/host";
import { type Failure, failure, SallyportError } from "@sallyport/protocol";

export interface LoadedModule {
  moduleUrl: string;
  tools: DefinedTool[];
}

/** Imports a module and finds the tools it exports. Throws E3920 saying what is wrong with it. */
export async function loadModule(path: string): Promise<LoadedModule> {
  const moduleUrl = pathToFileURL(path).href;
  let exported: Record<string, unknown>;
  try {
    exported = await guardedImport(moduleUrl, path);
  } catch (error) {
    throw new SallyportError(notLoaded(path, error), { cause: error });
  }
  const tools = toolsIn(exported);
  if (tools.length > 0) return { moduleUrl, tools };
  throw new SallyportError(
    failure("E3920", {
      message: `The module ${path} exports no tool.`,
      advice: "Export what defineTool() returns, by name or as default.",
    }),
  );
}

const LOAD_MS = 10_000;
const MODULE_ENDED_THE_PROCESS = 2;

/**
 * Imports with a guard around it, because a module's top level is code too: what it prints goes to stderr, it may not
 * take for ever, and if it ends the process that is not taken for a success.
 */
async function guardedImport(moduleUrl: string, path: string): Promise<Record<string, unknown>> {
  const { write } = process.stdout;
  const onExit = () => {
    process.exitCode = MODULE_ENDED_THE_PROCESS;
    process.stderr.write(`E3920 The tool module ${path} ended the process while it was loaded.\n`);
  };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not finish loading in ${LOAD_MS} ms`)), LOAD_MS);
  });
  process.once("exit", onExit);
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof write;
  try {
    const loaded = import(moduleUrl).then((module: object) => ({ ...module }));
    return await Promise.race([loaded, late]);
  } finally {
    clearTimeout(timer);
    process.stdout.write = write;
    process.off("exit", onExit);
  }
}

/** What is exported may be anything, also something that throws when it is looked at. */
function toolsIn(exported: Record<string, unknown>): DefinedTool[] {
  try {
    return [...new Set(Object.values(exported).flat().filter(isDefinedTool))];
  } catch {
    return [];
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** E3920 with the place in the module. */
export function notLoaded(path: string, error: unknown): Failure {
  const why = loadProblem(error, pathToFileURL(path).href, readText);
  const isCommonJs = why.includes("outside a module");
  const [, ours] = /Cannot find package '(@sallyport\/[a-z]+)'/.exec(String(error)) ?? [];
  return failure("E3920", {
    message: `The tool module ${path} cannot be loaded: ${why}`,
    ...(isCommonJs && {
      advice: 'Tool modules are ES modules: set "type": "module" in package.json, or use .mts or .mjs.',
    }),
    ...(ours !== undefined && {
      advice: `Run \`sallyport init\` in the folder of the configuration: it links ${ours}. Or install the package there.`,
    }),
  });
}
