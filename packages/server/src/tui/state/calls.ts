import type { LoopEvent, PlannedView } from "@sallyport/loop";
import { changedFiles } from "./changed-files.ts";
import { cleanLine } from "./clean.ts";
import { emptyRing, ringLines, withChunk, withRewrite } from "./output-ring.ts";
import type { CallStanding, OutputEvent, ScreenState, ShownCall } from "./screen-state.ts";

/** Lines of its output that stay with a finished call. */
const TAIL_LINES = 4;
const LONGEST_SAID = 300;

type Of<K extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: K }>;

/** A call that begins to come in, or is started without having been announced. */
export function arrived(state: ScreenState, { index, id, name }: Of<"call" | "started">): ScreenState {
  if (state.calls.some((call) => call.index === index)) return state;
  const call: ShownCall = { ...blank, index, id, name, standing: { state: "incoming" } };
  return { ...state, calls: [...state.calls, call] };
}

const blank = { summary: "", files: [], moreFiles: 0, tail: [], lineCount: 0 };

export function planned(state: ScreenState, views: readonly PlannedView[]): ScreenState {
  const shown = views.map((view): ShownCall => {
    const known = state.calls.find((call) => call.index === view.index);
    const { index, id, name, risk } = view;
    const summary = firstLine(cleanLine(view.summary));
    return { ...blank, ...known, index, id, name, risk, summary, standing: standingOf(view) };
  });
  return settled({ ...state, calls: shown });
}

function standingOf({ call }: PlannedView): CallStanding {
  return call.state === "completed" ? { ...call, said: "" } : call;
}

export function started(state: ScreenState, event: Of<"started">): ScreenState {
  const known = arrived(state, event);
  return { ...standing(known, event.index, { state: "executing" }), output: emptyRing(event.index) };
}

/** Output of a call. Of calls that run side by side the one that wrote last is shown. */
export function wrote(state: ScreenState, { index, chunk, restarts }: OutputEvent): ScreenState {
  const ring = state.output?.index === index ? state.output : emptyRing(index);
  return { ...state, output: restarts ? withRewrite(ring, chunk) : withChunk(ring, chunk) };
}

export function completed(state: ScreenState, event: Of<"completed">): ScreenState {
  const { index, isError, content, effects } = event;
  const said = isError ? firstLine(content) : "";
  const { files, more } = changedFiles(effects);
  const ring = state.output?.index === index ? state.output : undefined;
  const lines = ring === undefined ? [] : ringLines(ring);
  const change = {
    standing: { state: "completed", isError, said },
    files,
    moreFiles: more,
    tail: lines.slice(-TAIL_LINES),
    lineCount: Math.max(ring?.total ?? 0, lines.length),
  } as const;
  return settled(withoutOutput(changed(state, index, change), index));
}

function firstLine(content: string): string {
  const line = content.trim().split("\n", 1)[0] ?? "";
  return line.length <= LONGEST_SAID ? line : `${line.slice(0, LONGEST_SAID)}…`;
}

export function resolved(state: ScreenState, { index, reason }: Of<"resolved">): ScreenState {
  const told = standing(state, index, { state: "resolved", reason: firstLine(cleanLine(reason)) });
  return settled(withoutOutput(told, index));
}

function standing(state: ScreenState, index: number, now: CallStanding): ScreenState {
  return changed(state, index, { standing: now });
}

function changed(state: ScreenState, index: number, change: Partial<ShownCall>): ScreenState {
  const calls = state.calls.map((call) => (call.index === index ? { ...call, ...change } : call));
  return { ...state, calls };
}

function withoutOutput(state: ScreenState, index: number): ScreenState {
  if (state.output?.index !== index) return state;
  const { output: _, ...rest } = state;
  return rest;
}

/** Finished calls become entries, in call order: one waits for those before it. */
function settled(state: ScreenState): ScreenState {
  const open = state.calls.findIndex(({ standing: now }) => !isFinished(now));
  const count = open === -1 ? state.calls.length : open;
  if (count === 0) return state;
  return moved(state, count);
}

function isFinished({ state }: CallStanding): boolean {
  return state === "completed" || state === "resolved";
}

/** Nothing more will happen to the calls: they all become entries, and what was not finished says so. */
export function allSettled(state: ScreenState): ScreenState {
  const calls = state.calls.map((call) => ({ ...call, standing: lastStanding(call.standing) }));
  const { output: _, ...rest } = moved({ ...state, calls }, calls.length);
  return rest;
}

function lastStanding(now: CallStanding): CallStanding {
  if (isFinished(now)) return now;
  return { state: "resolved", reason: now.state === "executing" ? "stopped" : "not run" };
}

function moved(state: ScreenState, count: number): ScreenState {
  const entries = state.calls.slice(0, count).map((call) => ({ kind: "call", call }) as const);
  return { ...state, entries: [...state.entries, ...entries], calls: state.calls.slice(count) };
}
