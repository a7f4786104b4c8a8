import { mkdirSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { GroupSetting } from "./settings.ts";

// Synchronous on purpose: these are calls of microseconds into the kernel's memory, no disk is behind them, and a trip
// through the thread pool for each would cost a start more than everything else here.

const REMOVE_TRIES = 60;

/** Makes a group and writes its settings. Throws the kernel's word when it cannot, and leaves nothing then. */
export function makeGroup(folder: string, settings: readonly GroupSetting[]): void {
  mkdirSync(folder);
  try {
    applySettings(folder, settings);
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
}

/**
 * Writes settings into a group's files, one after the other. Version 1's memory must never be above memory with swap, so
 * that raising both is refused in the order in which lowering both works.
 */
export function applySettings(folder: string, settings: readonly GroupSetting[]): void {
  try {
    for (const setting of settings) writeSetting(folder, setting);
  } catch (error) {
    if (codeOf(error) !== "EINVAL") throw error;
    for (const setting of settings.toReversed()) writeSetting(folder, setting);
  }
}

function writeSetting(folder: string, setting: GroupSetting): void {
  try {
    writeFileSync(join(folder, setting.file), setting.value);
  } catch (error) {
    const isAbsent = ["ENOENT", "EACCES", "EPERM", "EOPNOTSUPP"].includes(codeOf(error));
    if (!setting.optional || !isAbsent) throw error;
  }
}

/** Removes a group that may still hold a process on its way out. False when it is still busy after seconds. */
export async function removeGroup(folder: string): Promise<boolean> {
  for (let attempt = 0; attempt < REMOVE_TRIES; attempt++) {
    const code = removeOnce(folder);
    if (code === "gone" || code === "ENOENT") return true;
    if (code !== "EBUSY" && code !== "ENOTEMPTY") return false;
    await pause(Math.min(5 * (attempt + 1), 100));
  }
  return false;
}

function removeOnce(folder: string): string {
  try {
    rmdirSync(folder);
    return "gone";
  } catch (error) {
    return codeOf(error);
  }
}

/** Removes a group and those below it, as far as nothing runs in them now. */
export function removeGroupTree(folder: string): void {
  for (const name of subfolders(folder)) removeGroupTree(join(folder, name));
  removeOnce(folder);
}

function subfolders(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch {
    // Gone already, which is what was wanted.
    return [];
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown";
}
