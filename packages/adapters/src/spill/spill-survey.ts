import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { HOLDER_NAME, OUTPUT_NAME, UNFINISHED_NAME } from "./spill-paths.ts";

/** One file of kept output. */
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
export async function holdersIn(folder: string): Promise<string[]> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(orMissing)) ?? [];
  // A link leads elsewhere, and what is there is not ours.
  return entries.flatMap((entry) =>
    entry.isDirectory() && HOLDER_NAME.test(entry.name) ? [entry.name] : [],
  );
}

/** The outputs in a holder, also those never finished. What goes meanwhile is passed over, and what is no output. */
export async function outputsOf(folder: string, holder: string): Promise<KeptOutput[]> {
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
export async function surveyOf(folder: string, goOn: GoOn): Promise<KeptOutput[]> {
  const all: KeptOutput[] = [];
  for (const holder of await holdersIn(folder)) {
    if (!goOn()) break;
    all.push(...(await outputsOf(folder, holder)));
  }
  return all;
}

/** When anything in a holder changed last: its newest file, or the folder itself when it is empty. */
export async function changedAtOf(
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
