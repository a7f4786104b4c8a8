import { mkdir, readdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { GroupSetting } from "./settings.ts";

const REMOVE_TRIES = 60;

/** Makes a group and writes its settings. Rejects with the kernel's word when it cannot, and leaves nothing then. */
export async function makeGroup(folder: string, settings: readonly GroupSetting[]): Promise<void> {
  await mkdir(folder);
  try {
    await applySettings(folder, settings);
  } catch (error) {
    await rmdir(folder);
    throw error;
  }
}

/** Writes settings into a group's files, one after the other: some limits must not cross on the way. */
export async function applySettings(folder: string, settings: readonly GroupSetting[]): Promise<void> {
  for (const setting of settings) await writeSetting(folder, setting);
}

async function writeSetting(folder: string, setting: GroupSetting): Promise<void> {
  const written = writeFile(join(folder, setting.file), setting.value);
  await (setting.optional ? written.catch(ignoreMissing) : written);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (!["ENOENT", "EACCES", "EPERM", "EOPNOTSUPP"].includes(error.code ?? "")) throw error;
}

/** Removes a group that may still hold a process on its way out. False when it is still busy after seconds. */
export async function removeGroup(folder: string): Promise<boolean> {
  for (let attempt = 0; attempt < REMOVE_TRIES; attempt++) {
    const code = await rmdir(folder).then(
      () => "gone",
      (error: NodeJS.ErrnoException) => error.code ?? "unknown",
    );
    if (code === "gone" || code === "ENOENT") return true;
    if (code !== "EBUSY" && code !== "ENOTEMPTY") return false;
    await pause(Math.min(5 * (attempt + 1), 100));
  }
  return false;
}

/** Removes a group and those below it, as far as nothing runs in them. */
export async function removeGroupTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeGroupTree(join(folder, entry.name));
  await rmdir(folder).catch(() => undefined);
}
