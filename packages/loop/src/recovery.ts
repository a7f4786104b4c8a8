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
    const availableBytes = FALLBACK_CAPACITY_BYTES;
    const result = call.result ?? (await onRecord(call, { ...batch, availableBytes }, parts));
    const { summary } = await describeCall(call, parts);
    calls.push({ ...call, summary, ...(result && { result }) });
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
  const told = resultForModel(standing.answer, tool);
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

/** What became of a call of an interrupted batch. `lost`: nobody knows, or nobody wants to. */
export interface AfterCrash {
  kind: "known" | "lost";
  result: BatchResult;
}

/**
 * A result for every call of an interrupted batch (FR-RES-05). Resuming keeps what is known and makes the rest errors;
 * discarding makes every one an error. Calls that still wait for a person are withdrawn either way.
 */
export async function resultsAfterCrash(
  batch: OpenBatch,
  { choice, capacity }: { choice: "resume" | "discard"; capacity: number },
  parts: Parts,
): Promise<AfterCrash[]> {
  const outcomes: AfterCrash[] = [];
  let availableBytes = capacity;
  for (const call of batch.calls) {
    const known = call.result ?? (await onRecord(call, { ...batch, availableBytes }, parts));
    if (call.callId !== undefined && !known) await withdraw(call.callId, parts);
    const isKept = choice === "resume" && known !== undefined;
    const outcome: AfterCrash = isKept
      ? { kind: "known", result: known }
      : { kind: "lost", result: failed(choice, parts) };
    availableBytes = Math.max(0, availableBytes - Buffer.byteLength(outcome.result.content));
    outcomes.push(outcome);
  }
  return outcomes;
}

/** The same for whoever watches, in the words of a batch that was not interrupted (FR-TUI-02). */
export async function recoveredEvents(
  calls: readonly JournaledCall[],
  outcomes: readonly AfterCrash[],
  parts: Parts,
): Promise<LoopEvent[]> {
  const views: PlannedView[] = [];
  for (const call of calls) {
    const { index, id, name } = call;
    views.push({ index, id, name, ...(await describeCall(call, parts)), call: { state: "pending" } });
  }
  const ends = calls.flatMap(({ index, id }, position): LoopEvent[] => {
    const outcome = outcomes[position];
    if (!outcome) return [];
    const { isError, content } = outcome.result;
    if (outcome.kind === "lost") return [{ kind: "resolved", index, id, reason: content }];
    return [{ kind: "completed", index, id, isError, content }];
  });
  return [{ kind: "planned", calls: views }, ...ends];
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
