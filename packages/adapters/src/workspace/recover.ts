import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { FileRollback } from "@sallyport/engine";
import { anchored } from "./anchor.ts";
import { heldAs } from "./held.ts";
import { type House, heldFolder, recordOf, recordsFolder, stagingFolder } from "./house.ts";
import type { Plan } from "./plan.ts";
import { proofOf } from "./proof.ts";
import { bytesOf, dropContent, readPlan, readStatus, timesNow, writeStatus } from "./records.ts";
import { removeTree } from "./remove-tree.ts";
import { NOTHING_THERE, unless } from "./system-error.ts";
import { takeBack } from "./take-back.ts";

type TakenBack = { callId: string; rollback: FileRollback };

/** Ends what an earlier process left in the folder. Safe to repeat, also after being cut short. */
export async function recover(
  house: House,
  isDone: (callId: string) => Promise<boolean>,
): Promise<TakenBack[]> {
  await dropStagings(house);
  const takenBack: TakenBack[] = [];
  for (const name of await namesIn(recordsFolder(house))) {
    const record = join(recordsFolder(house), name);
    const rollback = house.active.has(record) ? undefined : await settle(house, record, isDone);
    if (rollback) takenBack.push(rollback);
  }
  return takenBack;
}

async function dropStagings(house: House): Promise<void> {
  for (const name of await namesIn(stagingFolder(house))) {
    const path = join(stagingFolder(house), name);
    if (!house.active.has(path)) await removeTree(path);
  }
  // Held changes get their name in one step, when they are complete.
  for (const name of await namesIn(heldFolder(house)))
    if (name.endsWith(".new")) await removeTree(join(heldFolder(house), name));
}

async function settle(
  house: House,
  record: string,
  isDone: (callId: string) => Promise<boolean>,
): Promise<TakenBack | undefined> {
  const status = await readStatus(record);
  if (status?.state === "undone" || status?.state === "expired") return void (await dropContent(record));
  if (status) return undefined;
  const plan = await readPlan(record);
  // Without a plan nothing in a workspace was touched.
  if (!plan) return void (await removeTree(record));
  if (plan.purpose === "undo") return void (await settleUndo(house, record, plan));
  if (await isDone(plan.callId)) return void (await keepDone(house, record, plan));
  return { callId: plan.callId, rollback: await takeBackAnyway(house, record, plan) };
}

/** An undo counts once the call's own record says so; until then it is taken back, and can be asked for again. */
async function settleUndo(house: House, record: string, plan: Plan): Promise<void> {
  const call = await readStatus(recordOf(house, plan.callId));
  if (call?.state === "undone") await removeTree(record);
  else await takeBackAnyway(house, record, plan);
}

async function keepDone(house: House, record: string, plan: Plan): Promise<void> {
  const times = await unless(
    NOTHING_THERE,
    anchored(plan.root, (anchor) => timesNow(anchor, plan)),
  );
  const status = { state: "kept", at: house.settings.clock.now(), bytes: bytesOf(plan) } as const;
  if (plan.held !== undefined) await removeTree(heldAs(house, plan.held));
  await writeStatus(record, { ...status, ...(times && { times }) }, { sync: true });
}

/** A workspace that is not there or not open now may come back: its record waits, and keeps no other waiting. */
async function takeBackAnyway(house: House, record: string, plan: Plan): Promise<FileRollback> {
  try {
    return await house.turns.run(plan.root, () => takeBack(house, record, { plan }));
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    const left = [{ path: ".", what: `the workspace cannot be used: ${error.message}` }];
    return { verified: false, hash: proofOf(new Map()), discarded: 0, left };
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return (await unless(NOTHING_THERE, readdir(folder))) ?? [];
}
