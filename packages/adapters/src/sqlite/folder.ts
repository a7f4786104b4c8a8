import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createPrivateFiles } from "./private-files.ts";

/** The database's name in its folder; there is none until the first writer has been. */
export const DATABASE_FILE = "sallyport.db";

/** Names the files of a state folder. */
export function filesIn(folder: string) {
  return {
    database: join(folder, DATABASE_FILE),
    lock: join(folder, "lock.db"),
    owner: join(folder, "owner.json"),
  };
}

/** Makes the folder and its files, private; what is there already is left as it is. */
export async function prepareFolder(folder: string): Promise<void> {
  const { database, lock } = filesIn(folder);
  await createPrivateFiles(folder, [database, lock]);
}

/** Who holds the folder, for the message another process gives; the lock itself is the kernel's. */
export interface Owner {
  pid: number;
  startedAt: string;
}

/** Replaces the owner's note in one step. */
export async function writeOwner(folder: string, owner: Owner): Promise<void> {
  const path = filesIn(folder).owner;
  await writeFile(`${path}.new`, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The owner's note, or undefined when there is none that can be read. */
export async function readOwner(folder: string): Promise<Owner | undefined> {
  try {
    const { pid, startedAt }: Partial<Owner> = JSON.parse(await readFile(filesIn(folder).owner, "utf8"));
    return typeof pid === "number" && typeof startedAt === "string" ? { pid, startedAt } : undefined;
  } catch {
    return undefined;
  }
}
