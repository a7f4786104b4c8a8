import type { InterruptedBatch, OpenBatch } from "@sallyport/loop";
import { cleanLine } from "./state/clean.ts";

/** So much of what a call was for is shown, that its result has room beside it. */
const LONGEST_SUMMARY = 48;

/** What was going on when the conversation was interrupted. */
export function introOf({ phase, calls }: OpenBatch): string {
  if (phase === "streaming") return "The model's answer had not come in completely. What there is of it:";
  const known = calls.filter(({ result }) => result !== undefined).length;
  return `${known} of ${calls.length} ${calls.length === 1 ? "call has" : "calls have"} a result:`;
}

/** What a call was for; by its id where its arguments had not come in. */
export function interruptedCall({ name, id, summary }: InterruptedBatch["calls"][number]): string {
  if (summary === undefined || summary === name) return cleanLine(`${name} ${id}`);
  const line = cleanLine(summary);
  return line.length > LONGEST_SUMMARY ? `${line.slice(0, LONGEST_SUMMARY - 1)}…` : line;
}
