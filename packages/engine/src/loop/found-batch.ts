import type { OpenBatch } from "../ports/conversations.ts";
import type { LoopParts } from "./around.ts";
import type { KeptHistory } from "./kept-history.ts";
import type { LoopState } from "./loop-events.ts";
import { interruptedBatch, isKnownToEngine } from "./recovery.ts";

/**
 * How a conversation stands in which a batch is open while nobody works on it: it was interrupted, or waits for results
 * by hand. What needs nobody's decision is closed: words without calls, and calls that all have their results by hand.
 */
export async function stateFound(
  batch: OpenBatch,
  history: KeptHistory,
  parts: LoopParts,
): Promise<LoopState> {
  const { batchId, text, openedAt: at, calls } = batch;
  if (calls.length === 0) {
    await history.close(batchId, text === "" ? [] : [{ kind: "assistant", text, at }]);
    return { state: "idle" };
  }
  if (!(await isByHand(batch, parts))) {
    return { state: "recovery", batch: await interruptedBatch(batch, parts) };
  }
  const waiting = calls.filter(({ result }) => !result);
  if (waiting.length > 0) return { state: "awaiting_results", calls: waiting };
  await history.closeWithKnown(batch);
  return { state: "idle" };
}

/** Calls that were to run are never answered by hand, whatever the mode is now. */
async function isByHand(batch: OpenBatch, { settings, engine }: LoopParts): Promise<boolean> {
  if (batch.phase !== "sealed" || settings.mode !== "parse_only") return false;
  return !(await isKnownToEngine(batch, engine));
}
