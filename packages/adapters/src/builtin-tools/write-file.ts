import { defineTool } from "@sallyport/engine/tool";
import type { JsonValue } from "@sallyport/protocol";
import { ArgumentReader } from "./argument-reader.ts";
import { BUILTIN_VERSION, builtin, workspaceOnly } from "./builtin.ts";
import type { BuiltinTool } from "./options.ts";
import { confirmPlaces, type Place, placeOf } from "./place.ts";
import { previewOf } from "./preview-effects.ts";
import { executionFailed } from "./problems.ts";
import { conversationOf, type ToolMeans } from "./tool-means.ts";
import { entryAt, hashOf, putContent, type ReadableFiles } from "./workspace-file.ts";

/** Makes a new text file, and never changes one that is there (FR-TOOL-WRITE-01). */
export function writeFileTool(means: ToolMeans): BuiltinTool {
  const tool = defineTool({
    id: "write_file",
    version: BUILTIN_VERSION,
    description:
      "Makes a new text file, and the folders that lead to it. A file that exists already is not overwritten: use apply_patch to change it.",
    category: "file_system",
    sideEffects: "state",
    risk: "medium",
    requiredCapabilities: ["filesystem.read", "filesystem.write"],
    permissions: workspaceOnly(means.root, "rw"),
    limits: { timeoutMs: means.limits.fileTimeoutMs },
    input: INPUT,
    output: { type: "string" },
    summary: (input: JsonValue) => {
      const { path, content } = argumentsOf(input);
      return `Write new file: ${path} (${content.length} bytes)`;
    },
    async run(input: JsonValue, context) {
      const { path, content } = argumentsOf(input);
      const place = await newPlace(context.files, path, means);
      await putContent(context.files, place, content);
      await confirmPlaces([place], means);
      await means.reads.note(conversationOf(context), {
        path: place.path,
        sha256: hashOf(content),
        at: means.now(),
      });
      return `Created ${path} (${content.length} bytes)`;
    },
  });
  return builtin(tool, {
    async inspect(input) {
      await placeOf(argumentsOf(input).path, means);
    },
    preview: (input) =>
      previewOf(means.root, async (files) => {
        const { path, content } = argumentsOf(input);
        const place = await newPlace(files, path, means);
        return [{ relative: place.relative, before: undefined, after: content }];
      }),
  });
}

const INPUT = {
  type: "object",
  properties: {
    path: { type: "string", minLength: 1, description: "The new file, relative to the working folder." },
    content: { type: "string", description: "All that the file is to hold." },
  },
  required: ["path", "content"],
  additionalProperties: false,
};

function argumentsOf(input: JsonValue): { path: string; content: Buffer } {
  const given = new ArgumentReader(input);
  return { path: given.path(), content: Buffer.from(given.text("content"), "utf8") };
}

/** Throws when something is there already, a link that leads nowhere included. */
async function newPlace(files: ReadableFiles, path: string, means: ToolMeans): Promise<Place> {
  const place = await placeOf(path, means);
  const entry = await entryAt(files, place);
  if (!entry) return place;
  const what = entry.type === "folder" ? "is a directory" : "already exists; use apply_patch to change it";
  throw executionFailed(`${path} ${what}`);
}
