/** Lines that are kept of a running call's output (FR-TUI-03). */
export const KEPT_LINES = 50;
/** Characters that are kept of a line. */
export const KEPT_CHARACTERS = 1_000;

/** The last lines of a running call's output. `held`: what a person looks at who has scrolled up. */
export interface OutputRing {
  index: number;
  lines: readonly string[];
  /** The line that is not complete yet. */
  partial: string;
  /** Complete lines that came in all. */
  total: number;
  held?: { lines: readonly string[]; total: number; below: number };
}

export function emptyRing(index: number): OutputRing {
  return { index, lines: [], partial: "", total: 0 };
}

/** The same where the chunk begins with what replaces the line that is not complete yet. */
export function withRewrite(ring: OutputRing, chunk: string): OutputRing {
  return withChunk({ ...ring, partial: "" }, chunk);
}

/** Takes in a chunk; its size never adds to what is kept. */
export function withChunk(ring: OutputRing, chunk: string): OutputRing {
  const breaks = countBreaks(chunk);
  if (breaks === 0) return { ...ring, partial: cut(ring.partial + cut(chunk)) };
  const tail = chunk.slice(startOfLast(chunk, KEPT_LINES + 1)).split("\n");
  const first = breaks <= KEPT_LINES ? ring.partial + (tail[0] ?? "") : (tail[0] ?? "");
  const complete = [first, ...tail.slice(1, -1)].map(cut);
  return {
    ...ring,
    lines: [...ring.lines, ...complete].slice(-KEPT_LINES),
    partial: cut(tail.at(-1) ?? ""),
    total: ring.total + breaks,
  };
}

function countBreaks(chunk: string): number {
  let count = 0;
  for (let at = chunk.indexOf("\n"); at !== -1; at = chunk.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Where the last `count` pieces between line breaks begin. */
function startOfLast(chunk: string, count: number): number {
  let at = chunk.length;
  for (let found = 0; found < count; found += 1) {
    at = at === 0 ? -1 : chunk.lastIndexOf("\n", at - 1);
    if (at === -1) return 0;
  }
  return at + 1;
}

function cut(line: string): string {
  return line.length <= KEPT_CHARACTERS ? line : `${line.slice(0, KEPT_CHARACTERS)}…`;
}

/** All that can be looked at, the incomplete line last. */
export function ringLines({ lines, partial }: OutputRing): readonly string[] {
  return partial === "" ? lines : [...lines, partial].slice(-KEPT_LINES);
}

/** Moves a window of `height` rows; at the end it follows the output again. */
export function scrolled(ring: OutputRing, by: number, height: number): OutputRing {
  const held = ring.held ?? { lines: ringLines(ring), total: ring.total, below: 0 };
  const most = Math.max(0, held.lines.length - height);
  const below = Math.min(most, Math.max(0, held.below - by));
  if (below > 0) return { ...ring, held: { ...held, below } };
  const { held: _, ...following } = ring;
  return following;
}

/** The rows of a window, and how many lines are below it. */
export function ringWindow(ring: OutputRing, height: number): { rows: readonly string[]; below: number } {
  const lines = ring.held?.lines ?? ringLines(ring);
  const hidden = ring.held?.below ?? 0;
  const end = lines.length - hidden;
  const since = ring.held === undefined ? 0 : ring.total - ring.held.total;
  return { rows: lines.slice(Math.max(0, end - height), end), below: hidden + since };
}
