import type { LoopState, TurnEnd } from "@sallyport/loop";
import { allSettled, arrived, completed, planned, resolved, started, wrote } from "./calls.ts";
import { cleanLine } from "./clean.ts";
import { scrolled } from "./output-ring.ts";
import { type Entry, emptyScreen, type ScreenEvent, type ScreenState, type Speech } from "./screen-state.ts";

/** A line without an end is broken here, so that what is redrawn stays small. */
const LONGEST_PARTIAL = 2_000;

/** Takes in what the model says; whole lines become entries at once. */
function spoken(state: ScreenState, kind: Speech["kind"], delta: string): ScreenState {
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
function silent(state: ScreenState): ScreenState {
  const { speech, ...rest } = state;
  if (speech === undefined) return state;
  if (speech.partial.trim() === "") return rest;
  return { ...rest, entries: [...rest.entries, lineEntry(speech, speech.partial)] };
}

function lineEntry({ kind, first }: Speech, text: string): Entry {
  return { kind, text, first };
}

/** Lines that are shown of the arguments of a call that waits for a result. */
const LONGEST_ARGUMENTS = 200;

/** The screen after an event. Pure; the event is clean (`CleanBorder`). */
export function screenState(state: ScreenState, event: ScreenEvent): ScreenState {
  switch (event.kind) {
    case "said":
      return withEntries(allSettled(silent(state)), [{ kind: "user", text: event.text }]);
    case "ended":
      return withEntries(allSettled(silent(state)), endEntries(event.end));
    case "entries":
      return withEntries(silent(state), event.entries);
    case "scrolled":
      return state.output === undefined
        ? state
        : { ...state, output: scrolled(state.output, event.by, event.height) };
    case "cleared":
      return { ...state, ...emptyScreen(state.loop) };
    default:
      return afterLoop(state, event);
  }
}

type HappeningEvent = Exclude<ScreenEvent, { kind: "said" | "ended" | "entries" | "scrolled" | "cleared" }>;

function afterLoop(state: ScreenState, event: HappeningEvent): ScreenState {
  switch (event.kind) {
    case "state":
      return withEntries({ ...state, loop: event.state }, waitingEntries(state, event.state));
    case "text":
      return spoken(allSettled(state), "assistant", event.delta);
    case "reasoning":
      return spoken(allSettled(state), "reasoning", event.delta);
    case "call":
      return arrived(silent(state), event);
    case "planned":
      return planned(silent(state), event.calls);
    case "started":
      return started(state, event);
    case "stdout":
    case "stderr":
      return wrote(state, event);
    case "completed":
      return completed(state, event);
    case "resolved":
      return resolved(state, event);
    case "notice":
      return withEntries(silent(state), [{ kind: "notice", level: event.level, text: event.text }]);
  }
}

/** The whole arguments of calls that begin to wait for a person's result: the list itself is short. */
function waitingEntries(state: ScreenState, next: LoopState): Entry[] {
  if (next.state !== "awaiting_results" || state.loop.state === "awaiting_results") return [];
  return next.calls.map(({ id, name, arguments: given }) => ({
    kind: "block",
    title: `${cleanLine(name)}  ${cleanLine(id)}`,
    lines: given.split("\n", LONGEST_ARGUMENTS),
  }));
}

function withEntries(state: ScreenState, entries: readonly Entry[]): ScreenState {
  return entries.length === 0 ? state : { ...state, entries: [...state.entries, ...entries] };
}

function endEntries(end: TurnEnd): Entry[] {
  if (end.kind === "cancelled") return [{ kind: "notice", level: "warning", text: "Cancelled." }];
  if (end.kind !== "failed") return [];
  const { code, message, advice } = end.error;
  return [{ kind: "notice", level: "error", text: `${code} ${message}\n${advice}` }];
}
