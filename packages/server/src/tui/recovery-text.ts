import type { OpenBatch } from "@sallyport/engine/loop";

/** What was going on when the conversation was interrupted. */
export function introOf({ phase, calls }: OpenBatch): string {
  if (phase === "streaming") return "The model's answer had not come in completely. What there is of it:";
  const known = calls.filter(({ result }) => result !== undefined).length;
  return `${known} of ${calls.length} ${calls.length === 1 ? "call has" : "calls have"} a result:`;
}
