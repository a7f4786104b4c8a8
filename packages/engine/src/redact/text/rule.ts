/**
 * Takes one kind of secret out of a text and gives the text itself when there is none. Every rule takes time linear in
 * the text whatever is in it, and leaves the markers of other rules alone.
 */
export type TextRule = (text: string) => string;

/** A part of a text and what to put there. */
export interface Cut {
  start: number;
  end: number;
  marker: string;
}

/** The text with the cuts made; they come in order of their end, and where two overlap the later one is shortened. */
export function cutOut(text: string, cuts: Iterable<Cut>): string {
  let done = 0;
  let kept = "";
  for (const { start, end, marker } of cuts) {
    if (end <= done) continue;
    kept += text.slice(done, Math.max(start, done)) + marker;
    done = end;
  }
  return done === 0 ? text : kept + text.slice(done);
}

/**
 * Where the first match of `stop` (a global pattern) begins at or after `from`; the end of the text when there is none.
 * To look for the end takes no memory; a pattern that swallows the value a piece at a time fails on very long ones.
 */
export function firstStop(text: string, stop: RegExp, from: number): number {
  stop.lastIndex = from;
  return stop.exec(text)?.index ?? text.length;
}
