import type { BatchResult, JournaledCall, OpenBatch } from "../ports/conversations.ts";
import type { LoopParts } from "./around.ts";
import { fitResult } from "./fit-result.ts";

interface GivenResult {
  content: string;
  isError: boolean;
}

/** Mode parse_only: keeps a person's result of a call, as long as the model has room for it. */
export async function takeByHand(
  { callId, index }: JournaledCall,
  { batch, given, availableBytes }: { batch: OpenBatch; given: GivenResult; availableBytes: number },
  { conversations, clock, settings, spill }: LoopParts,
): Promise<void> {
  const { batchId, conversationId } = batch;
  const { content, isError } = given;
  const room = { maxOutputBytes: settings.limits.maxOutputBytes, availableBytes, allowTruncation: true };
  const fitting = { room, conversationId, spill, ...(callId !== undefined && { callId }) };
  const fitted = await fitResult({ isError, whole: false, content }, fitting);
  const result: BatchResult = { isError, content: fitted, at: clock.now() };
  await conversations.journal.result(batchId, index, result);
}
