import { pathToFileURL } from "node:url";
import { type DefinedTool, isDefinedTool } from "@sallyport/engine";
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
    exported = (await import(moduleUrl)) as Record<string, unknown>;
  } catch (error) {
    throw new SallyportError(notLoaded(path, error), { cause: error });
  }
  const tools = [...new Set(Object.values(exported).flat().filter(isDefinedTool))];
  if (tools.length > 0) return { moduleUrl, tools };
  throw new SallyportError(
    failure("E3920", {
      message: `The module ${path} exports no tool.`,
      advice: "Export what defineTool() returns, by name or as default.",
    }),
  );
}

function notLoaded(path: string, error: unknown): Failure {
  const why = error instanceof Error ? error.message : String(error);
  const isCommonJs = why.includes("outside a module");
  return failure("E3920", {
    message: `The tool module ${path} cannot be loaded: ${why}`,
    ...(isCommonJs && {
      advice: 'Tool modules are ES modules: set "type": "module" in package.json, or use .mts or .mjs.',
    }),
  });
}
