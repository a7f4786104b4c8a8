import type { DefinedTool } from "@sallyport/engine/tool";
import type { LoopTool } from "@sallyport/loop";
import { DEFAULT_OPERATION, type Failure, type JsonValue } from "@sallyport/protocol";
import type { BuiltinTool } from "./options.ts";
import { asFailure } from "./problems.ts";

/** What a loop asks a tool before it runs. */
export type LoopFace = Pick<LoopTool, "preview" | "maxArgumentBytes"> & {
  /** Throws what speaks against the call. */
  inspect?(input: JsonValue): Promise<void>;
};

/** All built-in tools change their versions together. */
export const BUILTIN_VERSION = "1.0.0";

/** Puts a tool and its face for a loop together; name, schema and conduct are those of the manifest. */
export function builtin(tool: DefinedTool, { inspect, ...face }: LoopFace): BuiltinTool {
  const { id, version, description, sideEffects, operations } = tool.manifest;
  const loop: LoopTool = {
    name: id,
    description,
    inputSchema: structuredClone(operations[DEFAULT_OPERATION]?.inputSchema ?? {}),
    sideEffects: sideEffects !== "none",
    tool: id,
    version,
    operation: DEFAULT_OPERATION,
    ...(inspect && { preflight: (input: JsonValue) => outcomeOf(inspect(input)) }),
    ...face,
  };
  return { tool, loop };
}

async function outcomeOf(inspection: Promise<void>): Promise<Failure | undefined> {
  try {
    await inspection;
    return undefined;
  } catch (error) {
    return asFailure(error);
  }
}

/** What file tools may touch: the workspace and nothing else. */
export function workspaceOnly(root: string, mode: "ro" | "rw") {
  return { filesystem: [{ path: root, mode }], network: [], credentials: [] };
}
