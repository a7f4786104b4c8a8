import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Failure } from "@sallyport/protocol";
import { hasCode, KEY_FILES, keyTrouble } from "./key-files.ts";

/** Lets one process at a time change the folder; E3227 while another does. A lock whose process is gone is taken over. */
export async function withKeyLock<Result>(
  folder: string,
  change: () => Promise<Result | Failure>,
): Promise<Result | Failure> {
  const file = join(folder, KEY_FILES.lock);
  if (!take(file)) {
    if (isHeld(file))
      return keyTrouble(`Another process is changing the keys in ${folder}.`, "Wait for it, then try again.");
    rmSync(file, { force: true });
    if (!take(file)) return keyTrouble(`Another process is changing the keys in ${folder}.`, "Try again.");
  }
  try {
    return await change();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    const handle = openSync(file, "wx", 0o600);
    writeSync(handle, String(process.pid));
    closeSync(handle);
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

function isHeld(file: string): boolean {
  const pid = Number(readFileSync(file, "utf8"));
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Without the right to signal it, it is alive all the same.
    return hasCode(error, "EPERM");
  }
}
