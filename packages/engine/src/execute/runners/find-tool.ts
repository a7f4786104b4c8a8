/** The mark that `defineTool` puts on a tool. A registered symbol, so that this file needs nothing from there. */
const TOOL_MARK = Symbol.for("sallyport.tool");

interface ToolShape {
  manifest: { id: unknown; version: unknown };
  operations: object;
}

export interface WantedTool {
  moduleUrl: string;
  tool: string;
  version: string;
}

/** No export of the module is the tool that was asked for; the message says which ones there are. */
export class NoSuchTool extends Error {
  override readonly name = "NoSuchTool";
}

/** Imports a tool's module and finds the tool among its exports. Rejects as the import does, or with NoSuchTool. */
export async function loadOperations(wanted: WantedTool): Promise<object> {
  const namespace: object = await import(wanted.moduleUrl);
  const tools = Object.values(namespace).flat().filter(isTool);
  const found = tools.find(
    ({ manifest }) => manifest.id === wanted.tool && manifest.version === wanted.version,
  );
  if (found) return found.operations;
  const names =
    tools.map(({ manifest }) => `${manifest.id}@${manifest.version}`).join(", ") || "no tool at all";
  throw new NoSuchTool(`${wanted.moduleUrl} does not export ${wanted.tool}@${wanted.version}, but ${names}`);
}

function isTool(value: unknown): value is ToolShape {
  if (typeof value !== "object" || value === null) return false;
  if (Reflect.get(value, TOOL_MARK) !== true || !("manifest" in value) || !("operations" in value))
    return false;
  return isObject(value.manifest) && isObject(value.operations);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
