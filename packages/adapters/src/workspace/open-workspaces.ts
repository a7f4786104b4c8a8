import { randomUUID } from "node:crypto";
import { chmod, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { FileRollback, FileStaging, Workspaces } from "@sallyport/engine/ports";
import { findLauncher, probeHost, scanUpper } from "../sandbox/launcher/index.ts";
import { anchored } from "./anchor.ts";
import { readdir, stat } from "./disk.ts";
import { privateFolder, readJson, writeJson } from "./durable.ts";
import { DEFAULT_BOUNDS } from "./effects.ts";
import { unusable } from "./failures.ts";
import { FolderLog } from "./folder-log.ts";
import { heldAs, readHeld } from "./held.ts";
import { FolderTurns, Queue } from "./in-turn.ts";
import type { Settings, WorkspacesOptions } from "./options.ts";
import { isRoot } from "./owner.ts";
import type { Plan } from "./plan.ts";
import {
  bytesOf,
  closeRecord,
  dropContent,
  type RecordStatus,
  readPlan,
  readStatus,
  timesNow,
  writeStatus,
} from "./records.ts";
import { removeTree } from "./remove-tree.ts";
import { prove } from "./restore.ts";
import { Staging } from "./staging.ts";
import { NOTHING_THERE, unless, wordsOf } from "./system-error.ts";
import { takeBack, unproved } from "./take-back.ts";
import { closeAgain, undo } from "./undo.ts";
import {
  heldFolder,
  recordOf,
  recordsFolder,
  stagingFolder,
  type WorkspaceContext,
} from "./workspace-context.ts";

/** How many records may be remembered of which nothing is left. */
const MOST_REMAINS = 10_000;

interface Kept {
  record: string;
  status: RecordStatus;
}

/** Forgets pre-images that are too old or, oldest first, too many. */
async function expire(context: WorkspaceContext): Promise<void> {
  const { keepMs, keepBytes, clock } = context.settings;
  const records = await readRecords(context);
  const isFull = ({ status }: Kept) => status.state === "kept" || status.state === "left";
  const full = records.filter(isFull);
  let bytes = full.reduce((sum, { status }) => sum + status.bytes, 0);
  for (const { record, status } of full) {
    if (status.at + keepMs > clock.now() && bytes <= keepBytes) continue;
    bytes -= status.bytes;
    const left = status.callId !== undefined && { callId: status.callId };
    await writeStatus(record, { state: "expired", at: clock.now(), bytes: 0, ...left }, { sync: false });
    await dropContent(record);
  }
  const remains = records.filter((kept) => !isFull(kept) && kept.status.callId === undefined);
  for (const { record } of remains.slice(0, Math.max(0, remains.length - MOST_REMAINS)))
    await context.drop(record);
  await expireHeld(context);
}

/** No question is open that long: whoever held these changes is gone. */
async function expireHeld(context: WorkspaceContext): Promise<void> {
  const folder = heldFolder(context);
  const { keepMs, clock } = context.settings;
  for (const name of (await unless(NOTHING_THERE, readdir(folder))) ?? []) {
    const held = join(folder, name);
    const found = await unless(NOTHING_THERE, stat(held));
    if (found && found.mtimeMs + keepMs < clock.now()) await context.drop(held);
  }
}

/** Oldest first. */
async function readRecords(context: WorkspaceContext): Promise<Kept[]> {
  const folder = recordsFolder(context);
  const records: Kept[] = [];
  for (const name of (await unless(NOTHING_THERE, readdir(folder))) ?? []) {
    const record = join(folder, name);
    const status = await readStatus(record);
    if (status) records.push({ record, status });
  }
  return records.sort((left, right) => left.status.at - right.status.at);
}

const EXPIRED = "it could not be put back then, and what is needed for it has expired";

/** A workspace that is not there or not open now may come back. */
const NOT_NOW = [...NOTHING_THERE, "EACCES"];

type IsDone = Parameters<Workspaces["recover"]>[0];

type TakenBack = { callId: string; rollback: FileRollback };

/** Ends what an earlier process left in the folder. Safe to repeat, also after being cut short. */
async function recover(context: WorkspaceContext, isDone: IsDone): Promise<TakenBack[]> {
  await dropStagings(context);
  const takenBack: TakenBack[] = [];
  for (const name of await namesIn(recordsFolder(context))) {
    const record = join(recordsFolder(context), name);
    const rollback = context.active.has(record) ? undefined : await settle(context, record, isDone);
    if (rollback) takenBack.push(rollback);
  }
  return takenBack;
}

async function dropStagings(context: WorkspaceContext): Promise<void> {
  for (const name of await namesIn(stagingFolder(context))) {
    const path = join(stagingFolder(context), name);
    if (!context.active.has(path)) await context.drop(path);
  }
  // Held changes get their name in one step, when they are complete.
  for (const name of await namesIn(heldFolder(context)))
    if (name.endsWith(".new")) await context.drop(join(heldFolder(context), name));
}

async function settle(
  context: WorkspaceContext,
  record: string,
  isDone: IsDone,
): Promise<TakenBack | undefined> {
  const status = await readStatus(record);
  if (status?.state === "undone" || status?.state === "expired") {
    await dropContent(record);
    return status.callId === undefined ? undefined : { callId: status.callId, rollback: unproved(EXPIRED) };
  }
  const plan = await readPlan(record);
  if (status?.state === "kept") {
    if (status.opened && plan) await unless(NOT_NOW, closeAgain(record, { plan, status }));
    return undefined;
  }
  // Without a plan nothing in a workspace was touched.
  if (!plan) return void (await context.drop(record));
  if (status) return { callId: plan.callId, rollback: await lookAgain(record, plan) };
  if (plan.purpose === "undo") return void (await settleUndo(context, record, plan));
  if (await isDone(plan.callId, { runId: plan.runId })) return void (await keepDone(context, record, plan));
  return {
    callId: plan.callId,
    rollback: await context.turns.run(plan.root, () => takeBack(context, record, { plan })),
  };
}

/**
 * What an earlier rollback had to leave. It is not taken back once more: meanwhile another call may have come to the same
 * content, and that is not this call's to remove. Once a person has put it right the record goes.
 */
async function lookAgain(record: string, plan: Plan): Promise<FileRollback> {
  try {
    const now = await anchored(plan.root, (anchor) => prove(anchor, plan));
    if (now.verified) await closeRecord(record);
    return now;
  } catch (error) {
    return unproved(`the workspace cannot be used: ${wordsOf(error)}`);
  }
}

/** An undo counts once the call's own record says so; until then it is taken back, and can be asked for again. */
async function settleUndo(context: WorkspaceContext, record: string, plan: Plan): Promise<void> {
  const call = await readStatus(recordOf(context, plan.callId));
  if (call?.state === "undone") await removeTree(record);
  else await context.turns.run(plan.root, () => takeBack(context, record, { plan }));
}

async function keepDone(context: WorkspaceContext, record: string, plan: Plan): Promise<void> {
  const times = await unless(
    NOTHING_THERE,
    anchored(plan.root, (anchor) => timesNow(anchor, plan)),
  );
  const status = { state: "kept", at: context.settings.clock.now(), bytes: bytesOf(plan) } as const;
  if (plan.held !== undefined) await removeTree(heldAs(context, plan.held));
  await writeStatus(record, { ...status, ...(times && { times }) }, { sync: true });
}

async function namesIn(folder: string): Promise<string[]> {
  return (await unless(NOTHING_THERE, readdir(folder))) ?? [];
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
const MIB = 1024 * 1024;

/** Opens the folder in which calls' changes to files are staged and kept for undo. Rejects with E3914 when it cannot. */
export async function openWorkspaces(options: WorkspacesOptions): Promise<Workspaces> {
  const settings = settingsOf({ ...options, folder: await prepare(resolve(options.folder)) });
  const context = makeContext(settings);
  for (const folder of [stagingFolder(context), recordsFolder(context), heldFolder(context)])
    await privateFolder(folder);
  const id = await idOf(settings.folder);
  return {
    id,
    begin: (order): FileStaging => new Staging(context, order),
    resumeHeld: async (name, callId) => {
      const held = await readHeld(context, name);
      return held && new Staging(context, { callId, rules: held.rules, maxBytes: held.maxBytes }, held);
    },
    dropHeld: (name) => removeTree(heldAs(context, name)),
    recover: (isDone) => recover(context, isDone),
    undo: (callId) => context.records.run(() => undo(context, callId)),
    expire: () => context.records.run(() => expire(context)),
  };
}

/** The folder's own name, whatever its path; written when the folder is first used. */
async function idOf(folder: string): Promise<string> {
  const path = join(folder, "id.json");
  const kept = await readJson<{ id: string }>(path);
  if (kept) return kept.id;
  const id = randomUUID();
  await writeJson(path, { id }, { sync: true });
  return id;
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

function settingsOf(options: WorkspacesOptions): Settings {
  return {
    keepMs: WEEK_MS,
    keepBytes: 1024 * MIB,
    copyLimitBytes: 256 * MIB,
    copyLimitFiles: 50_000,
    view: "auto",
    overlayWorks: () => probeOverlay(options.folder),
    clock: { now: () => Date.now() },
    onLeftover: warnOfLeftover,
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

function warnOfLeftover(path: string, error: unknown): void {
  const why = error instanceof Error ? error.message : String(error);
  process.emitWarning(`${path} could not be removed; the next start tries again: ${why}`);
}

function makeContext(settings: Settings): WorkspaceContext {
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
    drop: (path) => removeTree(path).catch((error: unknown) => settings.onLeftover(path, error)),
    usesOverlay,
  };
}
