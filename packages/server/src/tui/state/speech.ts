import type { Entry, ScreenState, Speech } from "./screen-state.ts";

/** A line without an end is broken here, so that what is redrawn stays small. */
const LONGEST_PARTIAL = 2_000;

/** Takes in what the model says; whole lines become entries at once. */
export function spoken(state: ScreenState, kind: Speech["kind"], delta: string): ScreenState {
  const open = state.speech?.kind === kind ? state : silent(state);
  const speech = open.speech ?? { kind, partial: "", first: true };
  const text = speech.first ? (speech.partial + delta).trimStart() : speech.partial + delta;
  const end = endOfWhole(text);
  if (end === 0) return { ...open, speech: { ...speech, partial: text } };
  const whole = text.slice(0, end).replace(/\n$/, "");
  return {
    ...open,
    entries: [...open.entries, lineEntry(speech, whole)],
    speech: { kind, partial: text.slice(end), first: false },
  };
}

function endOfWhole(text: string): number {
  const line = text.lastIndexOf("\n") + 1;
  if (text.length - line <= LONGEST_PARTIAL) return line;
  return text.lastIndexOf(" ") + 1 || text.length;
}

/** Ends what was being said. */
export function silent(state: ScreenState): ScreenState {
  const { speech, ...rest } = state;
  if (speech === undefined) return state;
  if (speech.partial.trim() === "") return rest;
  return { ...rest, entries: [...rest.entries, lineEntry(speech, speech.partial)] };
}

function lineEntry({ kind, first }: Speech, text: string): Entry {
  return { kind, text, first };
}
