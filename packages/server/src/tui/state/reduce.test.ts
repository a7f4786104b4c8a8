import type { LoopEvent, PlannedView } from "@sallyport/loop";
import { failure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PREVIEW } from "../fixtures/questions.ts";
import { screenState } from "./reduce.ts";
import { emptyScreen, type ScreenEvent, type ScreenState } from "./screen-state.ts";

function after(events: readonly ScreenEvent[], state: ScreenState = emptyScreen()): ScreenState {
  return events.reduce(screenState, state);
}

function view(index: number, change: Partial<PlannedView> = {}): PlannedView {
  const id = `call_${index}`;
  return {
    index,
    id,
    name: "read_file",
    summary: `file ${index}`,
    risk: "low",
    call: { state: "pending" },
    ...change,
  };
}

const started = (index: number): LoopEvent => ({
  kind: "started",
  index,
  id: `call_${index}`,
  name: "read_file",
});
const completed = (index: number, isError = false): LoopEvent => ({
  kind: "completed",
  index,
  id: `call_${index}`,
  isError,
  content: "first line\nsecond",
});

function standings(state: ScreenState): string[] {
  const finished = state.entries.flatMap((entry) => (entry.kind === "call" ? [entry.call] : []));
  return [...finished, ...state.calls].map(({ standing }) => standing.state);
}

describe("the calls of a batch", () => {
  it("go from pending over executing to completed, denied or failed [FR-TUI-02]", () => {
    const plan: LoopEvent = {
      kind: "planned",
      calls: [view(0), view(1), view(2, { call: { state: "asking" } })],
    };
    expect(standings(after([plan]))).toEqual(["pending", "pending", "asking"]);
    expect(standings(after([plan, started(0)]))).toEqual(["executing", "pending", "asking"]);
    const denied: LoopEvent = {
      kind: "resolved",
      index: 2,
      id: "call_2",
      reason: "Tool call denied by user",
    };
    const end = after([plan, started(0), completed(0), started(1), completed(1, true), denied]);
    expect(standings(end)).toEqual(["completed", "completed", "resolved"]);
    expect(end.calls).toEqual([]);
    expect(end.entries.at(-1)).toMatchObject({ call: { standing: { reason: "Tool call denied by user" } } });
    expect(end.entries.at(-2)).toMatchObject({ call: { standing: { isError: true, said: "first line" } } });
  });

  it("are written in call order, whichever ends first [FR-TUI-02]", () => {
    const plan: LoopEvent = { kind: "planned", calls: [view(0), view(1)] };
    const second = after([plan, started(0), started(1), completed(1)]);
    expect(second.entries).toEqual([]);
    expect(after([plan, started(0), completed(0)]).entries).toMatchObject([{ call: { id: "call_0" } }]);
    const both = after([completed(0)], second);
    expect(both.entries).toMatchObject([{ call: { id: "call_0" } }, { call: { id: "call_1" } }]);
  });

  it("show what they changed in files with the number of lines [FR-TUI-02]", () => {
    const done: LoopEvent = {
      kind: "completed",
      index: 0,
      id: "call_0",
      isError: false,
      content: "",
      effects: PREVIEW,
    };
    const state = after([{ kind: "planned", calls: [view(0)] }, started(0), done]);
    expect(state.entries).toMatchObject([
      {
        call: {
          files: [
            { mark: "M", path: "src/greeting.ts", added: 3, removed: 2 },
            { mark: "A", path: "src/name.ts", added: 1, removed: 0 },
          ],
        },
      },
    ]);
  });

  it("that were under way when the turn was cancelled do not stay so [FR-TUI-02]", () => {
    const plan: LoopEvent = { kind: "planned", calls: [view(0), view(1)] };
    const state = after([plan, started(0), { kind: "ended", end: { kind: "cancelled" } }]);
    expect(state.entries).toMatchObject([
      { call: { standing: { state: "resolved", reason: "stopped" } } },
      { call: { standing: { state: "resolved", reason: "not run" } } },
      { kind: "notice", text: "Cancelled." },
    ]);
    expect(state.output).toBeUndefined();
  });

  it("keep the last lines of what they wrote, and no more [FR-TUI-03] [FR-OUT-03]", () => {
    const chunk = Array.from({ length: 300 }, (_, line) => `line ${line}\n`).join("");
    const state = after([started(0), { kind: "stdout", index: 0, id: "call_0", chunk }]);
    expect(state.output?.lines).toHaveLength(50);
    const done = after([completed(0)], state);
    expect(done.output).toBeUndefined();
    expect(done.entries).toMatchObject([
      { call: { lineCount: 300, tail: ["line 296", "line 297", "line 298", "line 299"] } },
    ]);
  });
});

describe("what the model says", () => {
  it("is written line by line; only the open line is redrawn", () => {
    const state = after([
      { kind: "text", delta: "one\ntw" },
      { kind: "text", delta: "o\nthr" },
    ]);
    expect(state.entries).toEqual([
      { kind: "assistant", text: "one", first: true },
      { kind: "assistant", text: "two", first: false },
    ]);
    expect(state.speech).toMatchObject({ partial: "thr" });
  });

  it("is all there at the end, however it was cut, and what was written never changes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 40, unit: fc.constantFrom("a", " ", "\n", "é") })),
        (deltas) => {
          let state = emptyScreen();
          for (const delta of deltas) {
            const next = screenState(state, { kind: "text", delta });
            expect(next.entries.slice(0, state.entries.length)).toEqual(state.entries);
            state = next;
          }
          const end = screenState(state, { kind: "ended", end: { kind: "done", text: "" } });
          const text = end.entries.map((entry) => (entry.kind === "assistant" ? entry.text : "")).join("\n");
          expect(text.trim()).toBe(deltas.join("").trim());
        },
      ),
    );
  });

  it("without any line break does not grow what is redrawn", () => {
    const state = after(Array.from({ length: 2_000 }, () => ({ kind: "text", delta: "word " })));
    expect(state.speech?.partial.length).toBeLessThan(2_100);
  });
});

describe("the state of the conversation", () => {
  it("shows the whole arguments of calls that wait for results, once [FR-TUI-04]", () => {
    const calls = [{ id: "call_1", name: "read_file", arguments: '{"path":"a"}' }];
    const waiting: LoopEvent = { kind: "state", state: { state: "awaiting_results", calls } };
    const state = after([waiting, waiting]);
    expect(state.entries).toEqual([{ kind: "block", title: "read_file  call_1", lines: ['{"path":"a"}'] }]);
    expect(state.loop).toMatchObject({ state: "awaiting_results", calls });
  });

  it("says why a turn failed and what to do", () => {
    const error = failure("E3959", { message: "gone", advice: "Try again." });
    const state = after([{ kind: "ended", end: { kind: "failed", error } }]);
    expect(state.entries).toEqual([{ kind: "notice", level: "error", text: "E3959 gone\nTry again." }]);
  });

  it("is empty again after /clear, the conversation as it was", () => {
    const state = after([
      { kind: "said", text: "hello" },
      { kind: "state", state: { state: "streaming" } },
      { kind: "cleared" },
    ]);
    expect(state).toEqual(emptyScreen({ state: "streaming" }));
  });
});
