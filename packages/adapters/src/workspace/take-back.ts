import type { FileRollback } from "@sallyport/engine";
import { anchored } from "./anchor.ts";
import type { House } from "./house.ts";
import type { Plan, PlannedFolder } from "./plan.ts";
import { bytesOf, changedFolders, writeStatus } from "./records.ts";
import { removeTree } from "./remove-tree.ts";
import { restore } from "./restore.ts";

/**
 * Takes an applied plan back. The record goes with it; where paths had to be left to someone else it stays, so that a
 * person finds the pre-images until they expire.
 */
export function takeBack(
  { settings }: House,
  record: string,
  { plan, times }: { plan: Plan; times?: readonly PlannedFolder[] },
): Promise<FileRollback> {
  return anchored(plan.root, async (anchor) => {
    const keepTimes = times && (await changedFolders(anchor, plan, times));
    const { step } = settings;
    const done = await restore({ plan, record, anchor, step, ...(keepTimes && { keepTimes }) });
    step("close the record");
    if (done.left.length === 0) await removeTree(record);
    else
      await writeStatus(
        record,
        { state: "left", at: settings.clock.now(), bytes: bytesOf(plan) },
        { sync: true },
      );
    return done;
  });
}
