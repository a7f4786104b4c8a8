/** A second Ctrl-C within this time leaves. */
const TWICE_MS = 2_000;

/** What Ctrl-C means now. */
export type Interruption = "cancel" | "clear" | "leave";

/** A Ctrl-C, and how many turns had begun by then. */
export interface Interrupted {
  at: number;
  begun: number;
}

/** Once stops what is under way or empties the line; twice in one turn, or with nothing to stop, leaves. */
export function interruption(
  now: Interrupted,
  { last, busy, empty }: { last: Interrupted | undefined; busy: boolean; empty: boolean },
): Interruption {
  if (last && last.begun === now.begun && now.at - last.at <= TWICE_MS) return "leave";
  if (busy) return "cancel";
  return empty ? "leave" : "clear";
}
