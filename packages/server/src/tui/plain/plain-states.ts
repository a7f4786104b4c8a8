import type { InterruptedBatch } from "@sallyport/engine/loop";
import { interruptedCall, introOf } from "../recovery-text.ts";
import { cleanLine } from "../state/clean.ts";
import type { Dialogue } from "./plain-asker.ts";

/** Asks what to do with an interrupted batch (FR-RES-05); undefined when the person leaves instead. */
export async function plainRecovery(
  batch: InterruptedBatch,
  { reader, say, prompt, signal }: Dialogue,
): Promise<"resume" | "discard" | undefined> {
  say("This conversation was interrupted.");
  say(introOf(batch));
  for (const call of batch.calls) {
    const { result } = call;
    const what = result === undefined ? "no result: it may have run, or not" : cleanLine(result.content);
    say(`  ${interruptedCall(call)}: ${what}`);
  }
  say("Nothing runs again, whatever you choose.");
  await reader.forget();
  for (;;) {
    prompt("[r]esume with these results, or [d]iscard them, so that every call counts as failed? ");
    const line = (await reader.next(signal))?.trim().toLowerCase();
    if (line === undefined) return undefined;
    if (line === "r" || line === "resume") return "resume";
    if (line === "d" || line === "discard") return "discard";
  }
}

/** Says which calls wait for a result (FR-TUI-04). */
export function plainResults(
  calls: readonly { id: string; name: string; arguments: string }[],
  say: (line: string) => void,
): void {
  say(`${calls.length} ${calls.length === 1 ? "call waits" : "calls wait"} for your result.`);
  for (const { id, name, arguments: given } of calls)
    say(`  ${cleanLine(name)}, id ${cleanLine(id)}: ${cleanLine(given)}`);
  say("Enter /tool <id> <result>, or /tool error <id> <message>.");
}
