import type { LoopEvent } from "@sallyport/loop";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TERMINAL_ATTACKS } from "../../../../loop/src/fixtures/terminal-attacks.ts";
import { attackEvents, attackQuestion } from "../fixtures/attack-script.ts";
import { askedQuestions } from "../keys/asked-questions.ts";
import { standingScopesFor } from "../standing-scopes.ts";
import { cleanDeep, visibleJson } from "./clean.ts";
import { CleanBorder } from "./clean-event.ts";
import { screenState } from "./reduce.ts";
import { emptyScreen } from "./screen-state.ts";

/** Anything but a line break that is not printed as itself. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const UNSAFE = /[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b-\u200f]/;

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, held]) => [name, ...stringsIn(held)]);
}

/** The lines that are shown of a call's output, the incomplete one last. */
function linesOf(pieces: readonly string[]): string[] {
  const border = new CleanBorder();
  const state = pieces.reduce(
    (screen, piece) => screenState(screen, border.clean({ kind: "stdout", index: 0, id: "a", chunk: piece })),
    emptyScreen(),
  );
  return [...(state.output?.lines ?? []), state.output?.partial ?? ""];
}

describe("the border of the screen", () => {
  it.each(TERMINAL_ATTACKS)(
    "lets nothing of $name through, in any field [FR-OUT-02] [NFR-SEC-05]",
    ({ output }) => {
      const border = new CleanBorder();
      const state = attackEvents(output).reduce(
        (screen, event) => screenState(screen, border.clean(event)),
        emptyScreen(),
      );
      const strings = stringsIn(state);
      expect(strings.length).toBeGreaterThan(20);
      for (const text of strings) expect(text).not.toMatch(UNSAFE);
    },
  );

  it.each(TERMINAL_ATTACKS)(
    "lets nothing of $name into a question [FR-OUT-02] [NFR-SEC-05]",
    ({ output }) => {
      const commands = { standingScopes: standingScopesFor("user") };
      const [asked] = askedQuestions([attackQuestion(output)], { refusals: new Map(), commands });
      const { raw: _, ...shown } = asked ?? { raw: undefined };
      for (const text of stringsIn({ ...shown, scopes: asked?.scopes.map(({ label }) => label) })) {
        expect(text).not.toMatch(UNSAFE);
      }
    },
  );

  it("knows a sequence that is cut between two chunks [FR-OUT-02]", () => {
    const border = new CleanBorder();
    const chunk = (text: string): LoopEvent => ({ kind: "stdout", index: 0, id: "a", chunk: text });
    const shown = ["a\u001b]0;PW", "NED\u0007b", "\u001b", "[31mc"].map((text) => border.clean(chunk(text)));
    expect(shown.map((event) => ("chunk" in event ? event.chunk : "?")).join("")).toBe("abc");
  });

  it("keeps the last state of a line that is written over [FR-TUI-03]", () => {
    expect(linesOf(["10%\r20%\r30%\ndone\r\n"])).toEqual(["30%", "done", ""]);
  });

  it("shows a rewritten line as one line that changes, whatever piece comes when [FR-TUI-03]", () => {
    const pieces = [
      "get ",
      "10%",
      "\r",
      "get 20%\r",
      "get ",
      "30%",
      "\r\u001b[K",
      "get 40%",
      "\r",
      "\n",
      "next",
    ];
    const seen = pieces.map((_, index) => linesOf(pieces.slice(0, index + 1)));
    expect(seen.slice(0, 9).map((lines) => lines.length)).toEqual(Array(9).fill(1));
    expect(seen.map((lines) => lines[0])).toEqual([
      "get ",
      "get 10%",
      "get 10%",
      "get 20%",
      "get ",
      "get 30%",
      "get 30%",
      ...Array(4).fill("get 40%"),
    ]);
    expect(seen.at(-1)).toEqual(["get 40%", "next"]);
  });

  it("gives the same lines wherever the output is cut, between CR and LF too [FR-TUI-03]", () => {
    const output = fc.string({ unit: fc.constantFrom("a", "b", "\r", "\r\n", "\n"), maxLength: 40 });
    fc.assert(
      fc.property(output, fc.array(fc.nat(80), { maxLength: 10 }), (text, cuts) => {
        const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
        const pieces = places.slice(1).map((place, index) => text.slice(places[index], place));
        expect(linesOf(pieces)).toEqual(linesOf([text]));
        expect(linesOf([text]).length).toBe(text.split("\n").length);
      }),
    );
  });

  it("follows what each stream of each call has written so far, also while another begins [FR-TUI-03]", () => {
    const border = new CleanBorder();
    border.clean({ kind: "stdout", index: 0, id: "a", chunk: "half \u001b]0;PW" });
    border.clean({ kind: "started", index: 1, id: "b", name: "other" });
    const rest = border.clean({ kind: "stdout", index: 0, id: "a", chunk: "NED\u0007done" });
    expect(rest).toMatchObject({ chunk: "done" });
  });

  it("knows a line break that is cut between two pieces of what the model says", () => {
    const border = new CleanBorder();
    const said = ["one\r", "\ntwo", "\u001b[3", "1m!"].map((delta) => border.clean({ kind: "text", delta }));
    expect(said.map((event) => ("delta" in event ? event.delta : "?")).join("")).toBe("one\ntwo!");
  });

  it("keeps printable text", () => {
    const text = "Grüße, 世界! a <b> & 'c' 👍";
    expect(cleanDeep({ text })).toEqual({ text });
  });
});

describe("arguments as text", () => {
  it("show everything that is there, and read back as the same [FR-TUI-01]", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = visibleJson(value, 2);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        for (const line of text.split("\n")) expect(line).not.toMatch(UNSAFE);
      }),
    );
    expect(visibleJson({ path: "a\u202eb\u001b[2J" })).toBe('{"path":"a\\u202eb\\u001b[2J"}');
  });
});
