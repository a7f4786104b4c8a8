import { text } from "node:stream/consumers";
import type { BlobEntry, Blobs } from "@sallyport/engine/ports";
import { readHint, type SpillFolder } from "./spill-folder.ts";
import { ALWAYS, type GoOn, type KeptOutput, type SpillKeeping, sizeOf, tooMuch } from "./spill-keeping.ts";
import { holderOf, OUTPUT_NAME, outputNameOf } from "./spill-paths.ts";

export interface BlobSpillOptions {
  blobs: Blobs;
  /**
   * Names those who know the same conversations, in lower-case letters and digits. Output of another scope is neither
   * read nor removed: its conversations are not known here.
   */
  scope: string;
}

/** Keeps each output in a blob of its own, `output/SCOPE/CONVERSATION/CALL.txt`. */
export function openBlobSpill({ blobs, scope }: BlobSpillOptions): SpillFolder {
  const blobOf = (conversationId: string, name: string) =>
    `${folderOf(scope)}${holderOf(conversationId)}/${name}.txt`;
  return {
    async keep({ conversationId, callId, text: output }) {
      const name = outputNameOf(callId);
      const body = new TextEncoder().encode(output);
      await blobs.put(blobOf(conversationId, name), body, { contentType: "text/plain; charset=utf-8" });
      return name;
    },
    hint: readHint,
    async read(conversationId, name) {
      if (!OUTPUT_NAME.test(name)) return undefined;
      const stream = await blobs.get(blobOf(conversationId, name));
      return stream && (await text(stream));
    },
  };
}

/** Keeps what `openBlobSpill` fills from growing. */
export function openBlobSpillKeeping({ blobs, scope }: BlobSpillOptions): SpillKeeping {
  const root = folderOf(scope);
  const outputsOf = (conversationId: string) => outputsIn(blobs, `${root}${holderOf(conversationId)}/`);
  const remove = async (outputs: Iterable<KeptOutput>, goOn: GoOn) => {
    const gone: KeptOutput[] = [];
    for (const output of outputs) {
      if (!goOn()) break;
      await blobs.delete(output.path);
      gone.push(output);
    }
    return sizeOf(gone);
  };
  return {
    sizeOf: async (conversationId) => sizeOf(await outputsOf(conversationId)),
    remove: async (conversationId) => await remove(await outputsOf(conversationId), ALWAYS),
    async removeOrphans({ conversationIds, before, goOn = ALWAYS }) {
      const known = new Set(Array.from(conversationIds, holderOf));
      const unknown = (await outputsIn(blobs, root, goOn)).filter(({ holder }) => !known.has(holder));
      // A conversation that is about to be kept has new output.
      const fresh = new Set(
        unknown.filter(({ changedAt }) => changedAt >= before).map(({ holder }) => holder),
      );
      const orphans = unknown.filter(({ holder }) => !fresh.has(holder));
      return await remove(orphans, goOn);
    },
    async shrink({ maxBytes, spare, goOn = ALWAYS }) {
      const spared = new Set(Array.from(spare, holderOf));
      return await remove(tooMuch(await outputsIn(blobs, root, goOn), { maxBytes, spared }), goOn);
    },
  };
}

function folderOf(scope: string): string {
  return `output/${scope}/`;
}

/** Every output below a folder, as far as there is time. */
async function outputsIn(blobs: Blobs, folder: string, goOn: GoOn = ALWAYS): Promise<KeptOutput[]> {
  const outputs: KeptOutput[] = [];
  let next: string | undefined;
  do {
    const page = await blobs.list(folder, next === undefined ? {} : { next });
    outputs.push(...page.blobs.map(outputOf));
    next = page.next;
  } while (next !== undefined && goOn());
  return outputs;
}

function outputOf({ name: path, bytes, changedAt }: BlobEntry): KeptOutput {
  const [, , holder = "", file = ""] = path.split("/");
  return { holder, name: file.replace(/\.txt$/, ""), path, bytes, changedAt };
}
