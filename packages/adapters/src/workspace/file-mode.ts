import { chmod } from "./disk.ts";
import { openToRead, using } from "./file-content.ts";
import { hasCode } from "./system-error.ts";

/** Sets a file's permission bits through a handle: never those of what a link, put there meanwhile, leads to. */
export async function setMode(path: string, mode: number): Promise<void> {
  try {
    await using(await openToRead(path), async (file) => {
      await file.chmod(mode);
      await file.sync();
    });
  } catch (error) {
    // Only for a user who may not read the file, and so has no more rights than whoever could put a link there.
    if (!hasCode(error, "EACCES")) throw error;
    await chmod(path, mode);
  }
}
