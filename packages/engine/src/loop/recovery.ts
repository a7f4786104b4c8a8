import type { BatchResult, JournaledCall, OpenBatch, Turn } from "../ports/conversations.ts";
import type { LoopParts } from "./around.ts";
import { fitResult } from "./fit-result.ts";
import { FALLBACK_CAPACITY_BYTES, MESSAGES } from "./loop-settings.ts";
import { toldOf } from "./told.ts";

type Parts = Pick<LoopParts, "conversations" | "engine" | "clock" | "ids" | "tools" | "settings" | "spill">;

/**
 * A batch that an earlier process left, with the results it had written and those the engine has on record although
 * nobody wrote them into the conversation any more. Nothing is run (FR-RES-04c).
 */
export async function knownResults(batch: OpenBatch, parts: Parts): Promise<OpenBatch> {
  const calls: JournaledCall[] = [];
  for (const call of batch.calls) {
    const result = call.result ?? (await onRecord(call, batch.conversationId, parts));
    calls.push({ ...call, ...(result && { result }) });
  }
  return { ...batch, calls };
}

async function onRecord(
  { callId, name }: JournaledCall,
  conversationId: string,
  parts: Parts,
): Promise<BatchResult | undefined> {
  if (callId === undefined) return undefined;
  const standing = await parts.engine.standing(callId);
  if (!standing || !("answer" in standing)) return undefined;
  const tool = parts.tools.find((one) => one.name === name) ?? { name };
  const told = toldOf(standing.answer, tool);
  const { maxOutputBytes } = parts.settings.limits;
  const room = { maxOutputBytes, availableBytes: FALLBACK_CAPACITY_BYTES, allowTruncation: true };
  const content = await fitResult(told, { room, callId, conversationId, spill: parts.spill });
  return { isError: told.isError, content, at: parts.clock.now() };
}

/** The answer was still coming in: as much of it as there is joins the history, so that its calls have a place. */
export async function sealInterrupted(
  batch: OpenBatch,
  { conversations, ids }: Parts,
): Promise<{ sealed: OpenBatch; turns: Turn[] }> {
  const { openedAt: at, text } = batch;
  const calls = batch.calls.map((call) => ({ ...call, callId: ids.next() }));
  const turns: Turn[] = [
    ...(text === "" ? [] : [{ kind: "assistant" as const, text, at }]),
    ...calls.map(({ id, name, arguments: given }) => ({
      kind: "tool_use" as const,
      id,
      name,
      arguments: given,
      at,
    })),
  ];
  await conversations.journal.seal(batch.batchId, { turns, calls });
  return { sealed: { ...batch, phase: "sealed", calls }, turns };
}

/**
 * A result for every call of an interrupted batch (FR-RES-05). Resuming keeps what is known and makes the rest errors;
 * discarding makes every one an error. Calls that still wait for a person are withdrawn either way.
 */
export async function resultsAfterCrash(
  batch: OpenBatch,
  choice: "resume" | "discard",
  parts: Parts,
): Promise<BatchResult[]> {
  const { calls } = await knownResults(batch, parts);
  const results: BatchResult[] = [];
  for (const { callId, result } of calls) {
    if (callId !== undefined && !result) await withdraw(callId, parts);
    results.push(choice === "resume" && result ? result : failed(choice, parts));
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
