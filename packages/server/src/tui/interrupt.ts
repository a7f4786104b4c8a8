/** A second Ctrl-C within this time leaves. */
const TWICE_MS = 2_000;

/** What Ctrl-C means now. */
export type Interruption = "cancel" | "clear" | "leave";

/** Once stops what is under way or empties the line; twice, or with nothing to stop, leaves. */
export function interruption(
  now: number,
  { lastAt, busy, empty }: { lastAt: number | undefined; busy: boolean; empty: boolean },
): Interruption {
  if (lastAt !== undefined && now - lastAt <= TWICE_MS) return "leave";
  if (busy) return "cancel";
  return empty ? "leave" : "clear";
}
