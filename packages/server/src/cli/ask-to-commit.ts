import { createInterface } from "node:readline/promises";
import type { Engine } from "@sallyport/engine";
import type { CallAnswer } from "@sallyport/protocol";
import { must } from "../must.ts";
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
  const isWanted = changes ? await isAgreedOrNothing(changes, asking) : await mayRunUnseen(asking);
  if (signal.aborted) {
    await engine.cancelCall(pending.callId, { reason: CANCELLED });
    return must(await engine.resume(pending.callId, { disclosure: "full" }));
  }
  const settled = isWanted
    ? await engine.approvals.approve(approvalId, { by, ...(record && { digest: record.digest }) })
    : await engine.approvals.deny(approvalId, { by, reason: "the changes were not wanted" });
  must<object>(settled);
  return must(await engine.resume(pending.callId, { disclosure: "full", signal }));
}

const CANCELLED = "The person left the question with Ctrl-C.";

async function isAgreedOrNothing(
  changes: Parameters<typeof effectsText>[0],
  asking: Asking,
): Promise<boolean> {
  return (changes.files.length === 0 && changes.omitted === 0) || (await isAgreed(changes, asking));
}

/** It was not tried out, because it does not run fully isolated here: then the question is whether to run it at all. */
async function mayRunUnseen({ session, signal }: Asking): Promise<boolean> {
  const text =
    "It cannot be tried out first (weaker isolation). Run it, and keep what it changes? [y]es, [n]o: ";
  return isYes(await ask(text, { session, signal }));
}

async function isAgreed(
  changes: Parameters<typeof effectsText>[0],
  { session, diff, signal }: Asking,
): Promise<boolean> {
  session.output.note(effectsText(changes, session.output, { diff }));
  for (;;) {
    const choice = await ask("Keep these changes? [y]es, [n]o, [d]iff: ", { session, signal });
    if (choice !== "d") return isYes(choice);
    session.output.note(effectsText(changes, session.output, { diff: true }));
  }
}

function isYes(choice: string): boolean {
  return choice === "y" || choice === "yes";
}

/** What the person types; the end of the input, or Ctrl-C, is no answer, and no answer is a no. */
async function ask(text: string, { session, signal }: Pick<Asking, "session" | "signal">): Promise<string> {
  const lines = createInterface({ input: session.io.stdin, output: session.io.stderr });
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const ended = new AbortController();
  lines.once("close", () => ended.abort());
  try {
    const answer = await lines.question(text, { signal: AbortSignal.any([signal, ended.signal]) });
    return answer.trim().toLowerCase();
  } catch (error) {
    if (signal.aborted || ended.signal.aborted) return "";
    throw error;
  } finally {
    lines.close();
  }
}
