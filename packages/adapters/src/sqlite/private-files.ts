import { existsSync, writeFileSync } from "node:fs";
import { access, chmod, constants, mkdir, open, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { lost } from "./failures.ts";

/**
 * Makes the folder (0700), which Git ignores, and empty files (0600) in it, whatever the umask; what is there already is
 * left as it is.
 * Files are only ever created, never opened: closing a descriptor of a lock's file would drop the kernel's lock on it.
 * Rejects with E3914 and advice when that cannot be.
 */
export async function createPrivateFiles(folder: string, paths: readonly string[]): Promise<void> {
  try {
    const isNew = !existsSync(folder);
    await createFolder(resolve(folder));
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    keepOutOfGit(folder, { isNew });
    await Promise.all(paths.map(createPrivate));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw lost(`Cannot use the state folder ${folder}: ${reason}`, {
      advice:
        "Start it as the user whom the folder belongs to, or give this one a folder it may write in: --state-dir FOLDER.",
      cause,
    });
  }
}

/**
 * Keys and recorded calls must not be committed by accident: the folder gets a `.gitignore` that covers all of it. An
 * existing folder of another name may hold other people's files too, such as a whole project, and is left as it is.
 */
export function keepOutOfGit(folder: string, { isNew }: { isNew: boolean }): void {
  if (!isNew && basename(resolve(folder)) !== ".sallyport") return;
  try {
    writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

/** As `mkdir` with `recursive`, which never ends under /proc (Node 24). Every folder it makes is private. */
async function createFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
    await chmod(path, 0o700);
  } catch (error) {
    if (hasCode(error, "EEXIST") && (await stat(path)).isDirectory()) return;
    if (!hasCode(error, "ENOENT") || path === dirname(path) || existsSync(dirname(path))) throw error;
    await createFolder(dirname(path));
    await createFolder(path);
  }
}

async function createPrivate(path: string): Promise<void> {
  try {
    await (await open(path, "wx", 0o600)).close();
    await chmod(path, 0o600);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
