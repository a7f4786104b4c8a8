import { applyPatchTool } from "./apply-patch.ts";
import { listDirectoryTool } from "./list-directory.ts";
import type { BuiltinOptions, BuiltinTool } from "./options.ts";
import { readFileTool } from "./read-file.ts";
import { runCommandTool } from "./run-command.ts";
import { toolMeans } from "./tool-means.ts";
import { writeFileTool } from "./write-file.ts";

/**
 * The built-in tools for one workspace: `read_file`, `write_file`, `apply_patch`, `list_directory` and `run_command`.
 * Throws when the workspace is not there, or when commands would start outside it (E3919).
 */
export function builtinTools(options: BuiltinOptions): BuiltinTool[] {
  const means = toolMeans(options);
  return [
    readFileTool(means),
    writeFileTool(means),
    applyPatchTool(means),
    listDirectoryTool(means),
    runCommandTool(means, options),
  ];
}
