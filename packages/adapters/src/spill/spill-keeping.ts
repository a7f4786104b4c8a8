import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { folderOf, HOLDER_NAME, holderOf, OUTPUT_NAME, UNFINISHED_NAME } from "./spill-paths.ts";

/** How much output there is, or was. */
export interface OutputSize {
  files: number;
  bytes: number;
}

/** Looks over kept output, and removes it. Every removal may be cut off anywhere: the next one goes on. */
export interface SpillKeeping {
  sizeOf(conversationId: string): Promise<OutputSize>;
  /** Removes all that a conversation kept; resolves with how much that was. */
  remove(conversationId: string): Promise<OutputSize>;
  /**
   * Removes what belongs to none of these conversations, and files that were never finished; each only when nothing
   * changed in its place since `before`, because a conversation may be about to be kept.
   */
  removeOrphans(orphans: {
    conversationIds: Iterable<string>;
    before: number;
    goOn?: GoOn;
  }): Promise<OutputSize>;
  /** Removes the oldest output until there is no more than `maxBytes`, and nothing of the conversations spared. */
  shrink(limits: { maxBytes: number; spare: Iterable<string>; goOn?: GoOn }): Promise<OutputSize>;
}

/** No limit of time. */
export const ALWAYS: GoOn = () => true;

/** Keeps the folder that `openSpill` fills from growing. */
export function openSpillKeeping(folder: string): SpillKeeping {
  return {
    sizeOf: async (conversationId) => sizeOf(await outputsOf(folder, holderOf(conversationId))),
    async remove(conversationId) {
      const outputs = await outputsOf(folder, holderOf(conversationId));
      await rm(folderOf(folder, conversationId), { recursive: true, force: true });
      return sizeOf(outputs);
    },
    async removeOrphans({ conversationIds, before, goOn = ALWAYS }) {
      const known = new Set(Array.from(conversationIds, holderOf));
      const gone: KeptOutput[] = [];
      for (const holder of await holdersIn(folder)) {
        if (!goOn()) break;
        const remove = known.has(holder) ? removeUnfinished : removeHolder;
        gone.push(...(await remove(folder, { holder, before })));
      }
      return sizeOf(gone);
    },
    async shrink({ maxBytes, spare, goOn = ALWAYS }) {
      const outputs = await surveyOf(folder, goOn);
      const spared = new Set(Array.from(spare, holderOf));
      const gone: KeptOutput[] = [];
      for (const output of tooMuch(outputs, { maxBytes, spared })) {
        if (!goOn()) break;
        await rm(output.path, { force: true });
        gone.push(output);
      }
      await removeEmpty(new Set(gone.map(({ path }) => dirname(path))));
      return sizeOf(gone);
    },
  };
}

interface Holding {
  holder: string;
  before: number;
}

/** A folder of which no conversation knows. */
async function removeHolder(folder: string, { holder, before }: Holding): Promise<KeptOutput[]> {
  const outputs = await outputsOf(folder, holder);
  if ((await changedAtOf(folder, { holder, outputs })) >= before) return [];
  await rm(join(folder, holder), { recursive: true, force: true });
  return outputs;
}

/** Files that a process was writing when it was killed. */
async function removeUnfinished(folder: string, { holder, before }: Holding): Promise<KeptOutput[]> {
  const outputs = await outputsOf(folder, holder);
  const unfinished = outputs.filter(
    ({ name, changedAt }) => UNFINISHED_NAME.test(name) && changedAt < before,
  );
  for (const { path } of unfinished) await rm(path, { force: true });
  return unfinished;
}

/** A folder that still has something in it stays. */
async function removeEmpty(folders: Iterable<string>): Promise<void> {
  for (const folder of folders) await rmdir(folder).catch(() => undefined);
}

/** The oldest outputs that have to go. */
export function tooMuch(
  outputs: readonly KeptOutput[],
  { maxBytes, spared }: { maxBytes: number; spared: ReadonlySet<string> },
): KeptOutput[] {
  let { bytes } = sizeOf(outputs);
  const oldest = outputs
    .filter(({ holder }) => !spared.has(holder))
    .toSorted((a, b) => a.changedAt - b.changedAt);
  return oldest.filter((output) => {
    if (bytes <= maxBytes) return false;
    bytes -= output.bytes;
    return true;
  });
}

/** How much output that is together. */
export function sizeOf(outputs: readonly KeptOutput[]): OutputSize {
  return { files: outputs.length, bytes: outputs.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** One kept output. */
export interface KeptOutput {
  /** The name of the folder it is in, which stands for a conversation. */
  holder: string;
  name: string;
  path: string;
  bytes: number;
  changedAt: number;
}

/** Whether there is time for more. */
export type GoOn = () => boolean;

/** The folders that hold output; none when nothing was ever kept. */
async function holdersIn(folder: string): Promise<string[]> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(orMissing)) ?? [];
  // A link leads elsewhere, and what is there is not ours.
  return entries.flatMap((entry) =>
    entry.isDirectory() && HOLDER_NAME.test(entry.name) ? [entry.name] : [],
  );
}

/** The outputs in a holder, also those never finished. What goes meanwhile is passed over, and what is no output. */
async function outputsOf(folder: string, holder: string): Promise<KeptOutput[]> {
  const outputs: KeptOutput[] = [];
  for (const name of (await readdir(join(folder, holder)).catch(orMissing)) ?? []) {
    if (!OUTPUT_NAME.test(name) && !UNFINISHED_NAME.test(name)) continue;
    const path = join(folder, holder, name);
    const found = await lstat(path).catch(orMissing);
    if (found?.isFile()) outputs.push({ holder, name, path, bytes: found.size, changedAt: found.mtimeMs });
  }
  return outputs;
}

/** Every file of every holder, as far as there is time. */
async function surveyOf(folder: string, goOn: GoOn): Promise<KeptOutput[]> {
  const all: KeptOutput[] = [];
  for (const holder of await holdersIn(folder)) {
    if (!goOn()) break;
    all.push(...(await outputsOf(folder, holder)));
  }
  return all;
}

/** When anything in a holder changed last: its newest file, or the folder itself when it is empty. */
async function changedAtOf(
  folder: string,
  { holder, outputs }: { holder: string; outputs: readonly KeptOutput[] },
): Promise<number> {
  const own = await lstat(join(folder, holder)).catch(orMissing);
  return Math.max(own?.mtimeMs ?? 0, ...outputs.map(({ changedAt }) => changedAt));
}

function orMissing(error: unknown): undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  throw error;
}
