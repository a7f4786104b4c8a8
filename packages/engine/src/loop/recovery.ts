import type { BatchResult, JournaledCall, OpenBatch } from "../ports/conversations.ts";
import type { LoopParts } from "./around.ts";
import { fitResult } from "./fit-result.ts";
import { FALLBACK_CAPACITY_BYTES, MESSAGES } from "./loop-settings.ts";
import { toldOf } from "./told.ts";

type Parts = Pick<LoopParts, "engine" | "clock" | "tools" | "settings" | "spill">;

/**
 * A batch that an earlier process left, with the results it had written and those the engine has on record although
 * nobody wrote them into the conversation any more. Nothing is run (FR-RES-04c).
 */
export async function knownResults(batch: OpenBatch, parts: Parts): Promise<OpenBatch> {
  const calls: JournaledCall[] = [];
  for (const call of batch.calls) {
    const availableBytes = FALLBACK_CAPACITY_BYTES;
    const result = call.result ?? (await onRecord(call, { ...batch, availableBytes }, parts));
    calls.push({ ...call, ...(result && { result }) });
  }
  return { ...batch, calls };
}

async function onRecord(
  { callId, name }: JournaledCall,
  { conversationId, availableBytes }: { conversationId: string; availableBytes: number },
  parts: Parts,
): Promise<BatchResult | undefined> {
  if (callId === undefined) return undefined;
  const standing = await parts.engine.standing(callId);
  if (!standing || !("answer" in standing)) return undefined;
  const tool = parts.tools.find((one) => one.name === name) ?? { name };
  const told = toldOf(standing.answer, tool);
  const { maxOutputBytes } = parts.settings.limits;
  const room = { maxOutputBytes, availableBytes, allowTruncation: true };
  const content = await fitResult(told, { room, callId, conversationId, spill: parts.spill });
  return { isError: told.isError, content, at: parts.clock.now() };
}

/** Whether the engine has heard of any of its calls: then they were to run, and not to be answered by hand. */
export async function isKnownToEngine({ calls }: OpenBatch, engine: Parts["engine"]): Promise<boolean> {
  for (const { callId } of calls) if (callId !== undefined && (await engine.standing(callId))) return true;
  return false;
}

/**
 * A result for every call of an interrupted batch (FR-RES-05). Resuming keeps what is known and makes the rest errors;
 * discarding makes every one an error. Calls that still wait for a person are withdrawn either way.
 */
export async function resultsAfterCrash(
  batch: OpenBatch,
  { choice, capacity }: { choice: "resume" | "discard"; capacity: number },
  parts: Parts,
): Promise<BatchResult[]> {
  const results: BatchResult[] = [];
  let availableBytes = capacity;
  for (const call of batch.calls) {
    const known = call.result ?? (await onRecord(call, { ...batch, availableBytes }, parts));
    if (call.callId !== undefined && !known) await withdraw(call.callId, parts);
    const result = choice === "resume" && known ? known : failed(choice, parts);
    availableBytes = Math.max(0, availableBytes - Buffer.byteLength(result.content));
    results.push(result);
  }
  return results;
}

function failed(choice: "resume" | "discard", { clock }: Parts): BatchResult {
  const content = choice === "resume" ? MESSAGES.missingAfterCrash : MESSAGES.discardedAfterCrash;
  return { isError: true, content, at: clock.now() };
}

async function withdraw(callId: string, { engine }: Parts): Promise<void> {
  const standing = await engine.standing(callId);
  if (standing?.status === "pending_approval") {
    await engine.cancelCall(callId, { reason: "the conversation was interrupted" });
  }
}
