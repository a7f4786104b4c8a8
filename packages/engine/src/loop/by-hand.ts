import type { BatchResult, JournaledCall, OpenBatch } from "../ports/conversations.ts";
import type { LoopParts } from "./around.ts";
import { roomBefore } from "./capacity.ts";
import { fitResult } from "./fit-result.ts";

interface GivenResult {
  content: string;
  isError: boolean;
}

interface Taking {
  batch: OpenBatch;
  given: GivenResult;
  /** For all results of the batch. */
  capacityBytes: number;
}

/** Mode parse_only: keeps a person's result of a call, as long as the model has room for it beside the others. */
export async function takeByHand(
  { callId, index }: JournaledCall,
  { batch, given, capacityBytes }: Taking,
  { conversations, clock, settings, spill }: LoopParts,
): Promise<void> {
  const { batchId, conversationId } = batch;
  const { content, isError } = given;
  const availableBytes = roomIn(batch, capacityBytes);
  const room = { maxOutputBytes: settings.limits.maxOutputBytes, availableBytes, allowTruncation: true };
  const fitting = { room, conversationId, spill, ...(callId !== undefined && { callId }) };
  const fitted = await fitResult({ isError, whole: false, content }, fitting);
  const result: BatchResult = { isError, content: fitted, at: clock.now() };
  await conversations.journal.result(batchId, index, result);
}

/** What the results that were given before have left, without what those that are still to come need. */
function roomIn({ calls }: OpenBatch, capacityBytes: number): number {
  const given = calls.flatMap(({ result }) => result ?? []);
  const taken = given.reduce((bytes, { content }) => bytes + Buffer.byteLength(content), 0);
  return roomBefore(calls.length - given.length - 1, Math.max(0, capacityBytes - taken));
}
