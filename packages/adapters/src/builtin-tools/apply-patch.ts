import { defineTool, type ToolContext } from "@sallyport/engine/tool";
import { LP1_GUIDE } from "@sallyport/loop/lp1";
import type { JsonValue } from "@sallyport/protocol";
import { ArgumentReader } from "./argument-reader.ts";
import { BUILTIN_VERSION, builtin, workspaceOnly } from "./builtin.ts";
import type { BuiltinTool } from "./options.ts";
import { confirmPlaces } from "./place.ts";
import { type PatchedPlace, placesOf, planPatch, readPatch } from "./plan-patch.ts";
import { previewOf } from "./preview-effects.ts";
import { badArguments } from "./problems.ts";
import { conversationOf, type ToolMeans } from "./tool-means.ts";
import { hashOf, putContent } from "./workspace-file.ts";

/** Changes files of the workspace by an LP1 patch, all of them or none (FR-TOOL-PATCH-01). */
export function applyPatchTool(means: ToolMeans): BuiltinTool {
  const tool = defineTool({
    id: "apply_patch",
    version: BUILTIN_VERSION,
    description: `Changes files, all of them or none. A file that exists must have been read in this conversation, and not changed since.\n${LP1_GUIDE}`,
    category: "file_system",
    sideEffects: "state",
    risk: "medium",
    requiredCapabilities: ["filesystem.read", "filesystem.write"],
    permissions: workspaceOnly(means.root, "rw"),
    limits: { timeoutMs: means.limits.fileTimeoutMs },
    input: INPUT,
    output: { type: "string" },
    summary: (input: JsonValue) => summaryOf(wellFormed(input, means)),
    async run(input: JsonValue, context) {
      const patching = { files: context.files, conversation: conversationOf(context), means };
      const patched = await planPatch(patchOf(input), patching);
      await writeAll(patched, context);
      await confirmPlaces(
        patched.map(({ place }) => place),
        means,
      );
      await noteAll(patched, context, means);
      return patched.length === 0 ? "No changes applied." : patched.map(lineOf).join("\n");
    },
  });
  return builtin(tool, {
    // What a patch of the largest size can take in JSON: its own limit decides, and no text is read that is beyond it.
    maxArgumentBytes: patchArgumentBytes(means.limits.maxPatchBytes),
    async inspect(input) {
      await placesOf(wellFormed(input, means), means);
    },
    preview: (input, conversation) =>
      previewOf(means.root, async (files) => {
        const patched = await planPatch(patchOf(input), { files, conversation, means });
        return patched.map(({ place, before, after }) => ({ relative: place.relative, before, after }));
      }),
  });
}

/** How long the arguments of a patch can be as JSON: a character can take six bytes there. */
export function patchArgumentBytes(maxPatchBytes: number): number {
  return 6 * maxPatchBytes + 1_024;
}

const INPUT = {
  type: "object",
  properties: { patch: { type: "string", minLength: 1, description: "The patch, in LP1." } },
  required: ["patch"],
  additionalProperties: false,
};

function patchOf(input: JsonValue): string {
  return new ArgumentReader(input).text("patch");
}

/** The patch, before anything is done: a fault in it is then one of the arguments. */
function wellFormed(input: JsonValue, means: ToolMeans) {
  return readPatch(patchOf(input), means, ({ message }) => badArguments(message));
}

function summaryOf({ sections }: ReturnType<typeof wellFormed>): string {
  const files = [...new Set(sections.map(({ path }) => path))];
  if (files.length === 0) return "Apply patch (no files)";
  return `Apply patch to ${files.length} file(s): ${files.join(", ")}`;
}

/** Into the call's staging: nothing is in the workspace before the call's outcome is on record. */
async function writeAll(patched: readonly PatchedPlace[], { files }: ToolContext): Promise<void> {
  for (const { place, after } of patched) await putContent(files, place, after);
}

/**
 * The conversation knows what it wrote, and can patch it again without reading. Should the call not be committed after
 * all, the hash fits nothing, and the next patch is refused until the file is read again.
 */
async function noteAll(
  patched: readonly PatchedPlace[],
  context: ToolContext,
  means: ToolMeans,
): Promise<void> {
  const conversation = conversationOf(context);
  for (const { place, after } of patched)
    await means.reads.note(conversation, { path: place.path, sha256: hashOf(after), at: means.now() });
}

function lineOf({ place, before }: PatchedPlace): string {
  return `${before ? "modified" : "created"}: ${place.asked}`;
}
