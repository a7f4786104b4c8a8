import type { LoopParts } from "./context.ts";
import type { BatchResult, JournaledCall, OpenBatch } from "./conversations-port.ts";
import type { InterruptedBatch, LoopEvent, PlannedView } from "./events.ts";
import { describeCall } from "./planner.ts";
import { fitResult, resultForModel } from "./results.ts";
import { FALLBACK_CAPACITY_BYTES, MESSAGES } from "./settings.ts";

type Parts = Pick<LoopParts, "engine" | "clock" | "tools" | "settings" | "spill" | "caller">;

/**
 * A batch that an earlier process left, with the results it had written and those the engine has on record although
 * nobody wrote them into the conversation any more. Nothing is run (FR-RES-04c).
 */
export async function interruptedBatch(batch: OpenBatch, parts: Parts): Promise<InterruptedBatch> {
  const calls: InterruptedBatch["calls"] = [];
  for (const call of batch.calls) {
    const result = await knownResult(call, { ...batch, availableBytes: FALLBACK_CAPACITY_BYTES }, parts);
    const { summary } = await describeCall(call, parts);
    calls.push({ ...call, summary, ...(result && { result }) });
  }
  return { ...batch, calls };
}

/** The result a call has, or the one that the engine has on record for it. */
async function knownResult(
  { callId, name, result }: JournaledCall,
  { conversationId, availableBytes }: { conversationId: string; availableBytes: number },
  { engine, tools, settings, spill, clock }: Parts,
): Promise<BatchResult | undefined> {
  if (result || callId === undefined) return result;
  const standing = await engine.standing(callId);
  if (!standing || !("answer" in standing)) return undefined;
  const told = resultForModel(standing.answer, tools.find((one) => one.name === name) ?? { name });
  const maxBytes = Math.min(settings.limits.maxOutputBytes, availableBytes);
  const content = await fitResult(told, maxBytes, { spill, conversationId, callId });
  return { isError: told.isError, content, at: clock.now() };
}

/** Whether the engine has heard of any of its calls: then they were to run, and not to be answered by hand. */
export async function isKnownToEngine({ calls }: OpenBatch, engine: Parts["engine"]): Promise<boolean> {
  for (const { callId } of calls) if (callId !== undefined && (await engine.standing(callId))) return true;
  return false;
}

/** A call of an interrupted batch with what became of it. */
interface RecoveredCall extends JournaledCall {
  result: BatchResult;
  /** Nobody knows what became of it, or nobody wants to. */
  isLost: boolean;
}

/**
 * A result for every call of an interrupted batch (FR-RES-05). Resuming keeps what is known and makes the rest errors;
 * discarding makes every one an error. Calls that still wait for a person are withdrawn either way.
 */
export async function recoveredCalls(
  batch: OpenBatch,
  { choice, capacity }: { choice: "resume" | "discard"; capacity: number },
  parts: Parts,
): Promise<RecoveredCall[]> {
  const recovered: RecoveredCall[] = [];
  const content = choice === "resume" ? MESSAGES.missingAfterCrash : MESSAGES.discardedAfterCrash;
  let availableBytes = capacity;
  for (const call of batch.calls) {
    const known = await knownResult(call, { ...batch, availableBytes }, parts);
    if (call.callId !== undefined && !known) await withdraw(call.callId, parts);
    const kept = choice === "resume" ? known : undefined;
    const result = kept ?? { isError: true, content, at: parts.clock.now() };
    availableBytes = Math.max(0, availableBytes - Buffer.byteLength(result.content));
    recovered.push({ ...call, result, isLost: kept === undefined });
  }
  return recovered;
}

async function withdraw(callId: string, { engine }: Parts): Promise<void> {
  const standing = await engine.standing(callId);
  if (standing?.status === "pending_approval") {
    await engine.cancelCall(callId, { reason: "the conversation was interrupted" });
  }
}

/** The same for whoever watches, in the words of a batch that was not interrupted (FR-TUI-02). */
export async function recoveredEvents(calls: readonly RecoveredCall[], parts: Parts): Promise<LoopEvent[]> {
  const views: PlannedView[] = [];
  for (const call of calls) {
    const { index, id, name } = call;
    views.push({ index, id, name, ...(await describeCall(call, parts)), call: { state: "pending" } });
  }
  const ends = calls.map(({ index, id, isLost, result: { isError, content } }): LoopEvent => {
    if (isLost) return { kind: "resolved", index, id, reason: content };
    return { kind: "completed", index, id, isError, content };
  });
  return [{ kind: "planned", calls: views }, ...ends];
}
