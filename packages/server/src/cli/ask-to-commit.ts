import { createInterface } from "node:readline/promises";
import type { Engine } from "@sallyport/engine";
import { type CallAnswer, isFailure, SallyportError } from "@sallyport/protocol";
import { effectsText, isFileEffects } from "./effects-text.ts";
import type { Session } from "./session.ts";

interface Asking {
  engine: Engine;
  session: Session;
  diff: boolean;
  signal: AbortSignal;
}

/** Shows what a call that was tried out would change, and commits exactly that, or drops it. */
export async function askToCommit(pending: CallAnswer, asking: Asking): Promise<CallAnswer> {
  const { engine, session, signal } = asking;
  const approvalId = pending.approval?.approvalId;
  if (pending.status !== "pending_approval" || approvalId === undefined) return pending;
  const record = await engine.approvals.get(approvalId);
  const changes = record && isFileEffects(record.effects) ? record.effects : undefined;
  const by = session.caller({}).user ?? "operator";
  const isWanted = changes === undefined || changes.files.length === 0 || (await isAgreed(changes, asking));
  const settled = isWanted
    ? await engine.approvals.approve(approvalId, { by, ...(record && { digest: record.digest }) })
    : await engine.approvals.deny(approvalId, { by, reason: "the changes were not wanted" });
  if (isFailure(settled)) throw new SallyportError(settled);
  const answer = await engine.resume(pending.callId, { disclosure: "full", signal });
  if (isFailure(answer)) throw new SallyportError(answer);
  return answer;
}

async function isAgreed(
  changes: Parameters<typeof effectsText>[0],
  { session, diff, signal }: Asking,
): Promise<boolean> {
  session.output.note(effectsText(changes, session.output, { diff }));
  const lines = createInterface({ input: session.io.stdin, output: session.io.stderr });
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const ended = new AbortController();
  lines.once("close", () => ended.abort());
  try {
    for (;;) {
      const text = await lines.question("Keep these changes? [y]es, [n]o, [d]iff: ", {
        signal: AbortSignal.any([signal, ended.signal]),
      });
      const choice = text.trim().toLowerCase();
      if (choice === "d") session.output.note(effectsText(changes, session.output, { diff: true }));
      else return choice === "y" || choice === "yes";
    }
  } catch (error) {
    // No answer is a no.
    if (signal.aborted || ended.signal.aborted) return false;
    throw error;
  } finally {
    lines.close();
  }
}
