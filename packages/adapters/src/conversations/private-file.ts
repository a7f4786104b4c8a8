import { join } from "node:path";
import { createPrivateFiles } from "../sqlite/private-files.ts";

/** The name of the database in its folder. */
export const CONVERSATIONS_FILE = "conversations.db";

/** Makes the folder and an empty file in it, private, and gives the file's path. Rejects with E3914 when that cannot be. */
export async function preparePrivateFile(folder: string): Promise<string> {
  const path = join(folder, CONVERSATIONS_FILE);
  await createPrivateFiles(folder, [path]);
  return path;
}
