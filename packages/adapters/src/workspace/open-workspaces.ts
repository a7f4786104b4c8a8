import { chmod, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type { FileStaging, Workspaces } from "@sallyport/engine";
import { findLauncher, probeHost, scanUpper } from "../sandbox/launcher/index.ts";
import { privateFolder } from "./durable.ts";
import { DEFAULT_BOUNDS } from "./effects.ts";
import { expire } from "./expire.ts";
import { unusable } from "./failures.ts";
import { FolderLog } from "./folder-log.ts";
import { heldAs, readHeld } from "./held.ts";
import { type House, heldFolder, recordsFolder, stagingFolder } from "./house.ts";
import { FolderTurns, Queue } from "./in-turn.ts";
import type { Settings, WorkspacesOptions } from "./options.ts";
import { isRoot } from "./owner.ts";
import { recover } from "./recover.ts";
import { removeTree } from "./remove-tree.ts";
import { Staging } from "./staging.ts";
import { undo } from "./undo.ts";

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
const MIB = 1024 * 1024;

/** Opens the folder in which calls' changes to files are staged and kept for undo. Rejects with E3914 when it cannot. */
export async function openWorkspaces(options: WorkspacesOptions): Promise<Workspaces> {
  const settings = settle({ ...options, folder: await prepare(resolve(options.folder)) });
  const house = makeHouse(settings);
  for (const folder of [stagingFolder(house), recordsFolder(house), heldFolder(house)])
    await privateFolder(folder);
  return {
    begin: (order): FileStaging => new Staging(house, order),
    resumeHeld: async (name, callId) => {
      const held = await readHeld(house, name);
      return held && new Staging(house, { callId, rules: held.rules, maxBytes: held.maxBytes }, held);
    },
    dropHeld: (name) => removeTree(heldAs(house, name)),
    recover: (isDone) => recover(house, isDone),
    undo: (callId) => house.records.run(() => undo(house, callId)),
    expire: () => house.records.run(() => expire(house)),
  };
}

async function prepare(folder: string): Promise<string> {
  try {
    await privateFolder(folder);
    await chmod(folder, 0o700);
    return await realpath(folder);
  } catch (cause) {
    throw unusable(`Cannot use ${folder} for the changes of calls.`, cause);
  }
}

function settle(options: WorkspacesOptions): Settings {
  return {
    keepMs: WEEK_MS,
    keepBytes: 1024 * MIB,
    copyLimitBytes: 256 * MIB,
    copyLimitFiles: 50_000,
    view: "auto",
    overlayWorks: () => probeOverlay(options.folder),
    clock: { now: () => Date.now() },
    scan: (upper) => scanUpper(upper, { userXattr: !isRoot() }),
    ...options,
    sandboxUser: isRoot() ? options.sandboxUser : undefined,
    bounds: { ...DEFAULT_BOUNDS, ...options.bounds },
    step: options.onStep ?? (() => undefined),
  };
}

/** Without a launcher there is nobody to make an overlay. */
async function probeOverlay(folder: string): Promise<boolean> {
  return "path" in findLauncher() && (await probeHost(folder)).overlay;
}

function makeHouse(settings: Settings): House {
  let works: Promise<boolean> | undefined;
  const usesOverlay = async () => {
    if (settings.view !== "auto") return settings.view === "overlay";
    works ??= settings.overlayWorks();
    return works;
  };
  return {
    settings,
    turns: new FolderTurns(),
    log: new FolderLog(),
    active: new Set(),
    records: new Queue(),
    usesOverlay,
  };
}
