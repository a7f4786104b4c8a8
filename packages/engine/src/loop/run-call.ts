import { type CallAnswer, type Failure, isFailure } from "@sallyport/protocol";
import type { BatchAround } from "./around.ts";
import { orderOf } from "./call-order.ts";
import { outputChunks } from "./output-chunks.ts";
import type { PlannedCall } from "./planner.ts";
import { orAborted } from "./while-wanted.ts";

/** A call that may run, under the engine's id for it. */
export type Runnable = Extract<PlannedCall, { kind: "execute" | "confirm" }> & { callId: string };

/** Runs a call through the engine and shows what it writes meanwhile. When this ends nothing of it is open any more. */
export async function runCall(
  call: Runnable,
  { isApproved }: { isApproved: boolean },
  around: BatchAround,
): Promise<CallAnswer | Failure> {
  const { engine, signal, tell } = around;
  const { index, id, name, callId } = call;
  const chunks = outputChunks({ index, id }, tell);
  await tell({ kind: "started", index, id, name });
  // Whatever came to need a person after the person was asked does not run.
  const answer = isApproved
    ? await engine.resume(callId, { signal, onOutput: chunks.take, disclosure: "full" })
    : await engine.call({ ...orderOf(call, around), onOutput: chunks.take, onApproval: "deny" });
  await orAborted(chunks.end(), signal);
  // Nobody is going to answer or use what is still open of it.
  if (isFailure(answer) || answer.status === "pending_approval") {
    await engine.cancelCall(callId, { reason: "the batch went on without it" });
  }
  return answer;
}
