/** A second Ctrl-C within this time leaves. */
const TWICE_MS = 2_000;

/** What Ctrl-C means now. */
export type Interruption = "cancel" | "clear" | "leave";

/** A Ctrl-C, and how many turns had begun by then. */
export interface Interrupted {
  at: number;
  begun: number;
}

interface Circumstances {
  last: Interrupted | undefined;
  busy: boolean;
  empty: boolean;
  /** When the last turn ended. */
  endedAt?: number | undefined;
}

/** Once stops what is under way or empties the line; twice in one turn, or with nothing to stop, leaves. */
export function interruption(now: Interrupted, { last, busy, empty, endedAt }: Circumstances): Interruption {
  if (last && last.begun === now.begun && now.at - last.at <= TWICE_MS) return "leave";
  if (busy) return "cancel";
  // It was meant for the turn that has just ended.
  const justEnded = endedAt !== undefined && now.at - endedAt <= TWICE_MS;
  return empty && !justEnded ? "leave" : "clear";
}
