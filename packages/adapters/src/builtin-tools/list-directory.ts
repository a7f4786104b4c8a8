import type { ToolContext } from "@sallyport/engine/tool";
import { defineTool } from "@sallyport/engine/tool";
import type { JsonValue } from "@sallyport/protocol";
import { BUILTIN_VERSION, builtin, workspaceOnly } from "./builtin.ts";
import { folderReader } from "./folder-reader.ts";
import { type ListArguments, listArguments } from "./list-arguments.ts";
import { listingText, tidyPath } from "./listing-text.ts";
import type { BuiltinTool } from "./options.ts";
import { confirmPlaces, type Place, placeOf } from "./place.ts";
import { executionFailed, fileProblem } from "./problems.ts";
import type { ToolMeans } from "./tool-means.ts";
import { type Walked, walkFolder } from "./walk-folder.ts";
import { entryAt } from "./workspace-file.ts";

/** Lists a folder of the workspace as one JSON object (FR-TOOL-LIST-01). */
export function listDirectoryTool(means: ToolMeans): BuiltinTool {
  const { list, fileTimeoutMs } = means.limits;
  const tool = defineTool({
    id: "list_directory",
    version: BUILTIN_VERSION,
    description: "List directory entries",
    category: "file_system",
    sideEffects: "none",
    risk: "low",
    requiredCapabilities: ["filesystem.read"],
    permissions: workspaceOnly(means.root, "ro"),
    limits: { timeoutMs: fileTimeoutMs },
    input: INPUT,
    output: { type: "string" },
    summary: (input: JsonValue) => {
      const { path, recursive, maxDepth } = listArguments(input, list);
      return recursive ? `List ${path} [depth ${maxDepth}]` : `List ${path}`;
    },
    async run(input: JsonValue, context) {
      const wanted = listArguments(input, list);
      const place = await placeOf(wanted.path, means);
      const walked = await walk(place, { wanted, context, means });
      await confirmPlaces([place], means);
      const room = means.outputBudgets.of(context.callId);
      room.allowTruncation = false;
      const frame = { path: tidyPath(wanted.path), maxEntries: wanted.maxEntries };
      const text = listingText(walked, frame, Math.min(room.maxOutputBytes, room.availableBytes));
      if (text === undefined) throw executionFailed("there is not even room for an empty listing");
      return text;
    },
  });
  return builtin(tool, {
    async inspect(input) {
      await placeOf(listArguments(input, list).path, means);
    },
  });
}

interface Walking {
  wanted: ListArguments;
  context: ToolContext;
  means: ToolMeans;
}

async function walk(place: Place, { wanted, context, means }: Walking): Promise<Walked> {
  const entry = await entryAt(context.files, place);
  if (!entry) throw executionFailed(`${place.asked}: no such file or directory`);
  if (entry.type !== "folder") throw executionFailed(`${place.asked}: is not a directory`);
  try {
    return await walkFolder({
      read: folderReader(context.files, means.root),
      from: place.relative,
      wanted,
      isDenied: (relative) => means.sandbox.deniedBy(`${means.root}/${relative}`) !== undefined,
      signal: context.signal,
    });
  } catch (error) {
    throw fileProblem(place.asked, error);
  }
}

const FLAG = { type: "boolean" };

const INPUT = {
  type: "object",
  properties: {
    path: { type: "string", minLength: 1, description: "The folder, relative to the working folder." },
    recursive: { ...FLAG, description: "Whether to go into the folders in it." },
    max_depth: { type: "integer", minimum: 1, description: "How deep; 1 is the folder itself." },
    max_entries: { type: "integer", minimum: 1, description: "How many entries at most." },
    include_hidden: { ...FLAG, description: "Whether to list names that begin with a dot." },
    include_files: { ...FLAG, description: "Whether to list files." },
    include_dirs: { ...FLAG, description: "Whether to list folders." },
    include_symlinks: { ...FLAG, description: "Whether to list symbolic links, which are never followed." },
    include_other: { ...FLAG, description: "Whether to list pipes, sockets and devices." },
  },
  required: ["path"],
  additionalProperties: false,
};
