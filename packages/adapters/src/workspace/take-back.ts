import type { FileRollback } from "@sallyport/engine/ports";
import { anchored } from "./anchor.ts";
import type { Plan, PlannedFolder } from "./plan.ts";
import { proofOf } from "./proof.ts";
import { bytesOf, changedFolders, closeRecord, writeStatus } from "./records.ts";
import { restore } from "./restore.ts";
import { twice, wordsOf } from "./system-error.ts";
import type { WorkspaceContext } from "./workspace-context.ts";

/** An applied plan, and how the call left the times of its folders where that is known. */
interface Applied {
  plan: Plan;
  times?: readonly PlannedFolder[];
}

/**
 * Takes an applied plan back, as far as that is possible; never rejects. The record goes with it; where paths had to be
 * left it stays, so that a person finds the pre-images until they expire.
 */
export async function takeBack(
  context: WorkspaceContext,
  record: string,
  applied: Applied,
): Promise<FileRollback> {
  try {
    return await twice(() => tryToTakeBack(context, record, applied));
  } catch (error) {
    return unproved(`the workspace cannot be used: ${wordsOf(error)}`);
  }
}

/** The answer when nothing can be said about a workspace. */
export function unproved(what: string): FileRollback {
  return { verified: false, hash: proofOf(new Map()), discarded: 0, left: [{ path: ".", what }] };
}

function tryToTakeBack(
  { settings }: WorkspaceContext,
  record: string,
  { plan, times }: Applied,
): Promise<FileRollback> {
  return anchored(plan.root, async (anchor) => {
    const keepTimes = times && (await changedFolders(anchor, plan, times));
    const { step } = settings;
    const done = await restore({ plan, record, anchor, step, ...(keepTimes && { keepTimes }) });
    step("close the record");
    if (done.left.length === 0) await closeRecord(record);
    else
      await writeStatus(
        record,
        { state: "left", at: settings.clock.now(), bytes: bytesOf(plan), callId: plan.callId },
        { sync: true },
      );
    return done;
  });
}
