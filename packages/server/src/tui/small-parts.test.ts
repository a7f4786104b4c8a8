import { describe, expect, it } from "vitest";
import { COMMAND, PATCH } from "./fixtures/questions.ts";
import { interruption } from "./interrupt.ts";
import { pressesOf } from "./keys/press.ts";
import { lookOf, showsColour, showsUnicode } from "./look.ts";
import { standingScopesFor } from "./standing-scopes.ts";
import { entryLines } from "./state/entry-lines.ts";
import { historyEntries } from "./state/history.ts";

describe("Ctrl-C", () => {
  it.each([
    ["stops what is under way", { last: undefined, busy: true, empty: true }, "cancel"],
    ["leaves the second time", { last: { at: 9_000, begun: 1 }, busy: true, empty: true }, "leave"],
    [
      "stops again when the first was long ago",
      { last: { at: 7_000, begun: 1 }, busy: true, empty: true },
      "cancel",
    ],
    [
      "stops another turn than the first did",
      { last: { at: 9_500, begun: 0 }, busy: true, empty: true },
      "cancel",
    ],
    ["leaves with nothing to stop", { last: undefined, busy: false, empty: true }, "leave"],
    ["empties the line first", { last: undefined, busy: false, empty: false }, "clear"],
  ] as const)("%s", (_, now, meant) => {
    expect(interruption({ at: 10_000, begun: 1 }, now)).toBe(meant);
  });
});

describe("what may be allowed from now on", () => {
  const scopes = standingScopesFor("user");

  it("is offered where the policy asked, and nowhere else [FR-TUI-01]", () => {
    expect(scopes(PATCH)).toHaveLength(4);
    expect(scopes(COMMAND)).toEqual([]);
    expect(scopes({ ...PATCH, because: "caller" })).toEqual([]);
  });

  it("says that any arguments are meant where the risk is high [FR-TUI-01]", () => {
    const wide = scopes({ ...PATCH, risk: "high" }).map(({ always }) => always.anyArguments ?? false);
    expect(wide).toEqual([false, false, true, true]);
    expect(scopes(PATCH).some(({ always }) => always.anyArguments)).toBe(false);
  });
});

describe("the look", () => {
  it("follows the environment", () => {
    expect(showsUnicode({ LANG: "de_DE.UTF-8" })).toBe(true);
    expect(showsUnicode({ LANG: "de_DE.UTF-8", LC_ALL: "C" })).toBe(false);
    expect(showsUnicode({})).toBe(false);
    expect(showsColour({ TERM: "xterm" })).toBe(true);
    expect(showsColour({ NO_COLOR: "1" })).toBe(false);
    expect(showsColour({ TERM: "dumb" })).toBe(false);
  });

  it("draws with ASCII alone where there is no more, and without colour [FR-TUI-02]", () => {
    const { glyphs, paint } = lookOf({ unicode: false, colour: false });
    expect(Object.values(glyphs).flat().join("")).toMatch(/^[ -~]+$/);
    expect(paint("alarm")).toEqual({});
  });
});

describe("keys that come in one piece", () => {
  const none = Object.fromEntries(
    [
      "upArrow",
      "downArrow",
      "leftArrow",
      "rightArrow",
      "pageDown",
      "pageUp",
      "home",
      "end",
      "return",
      "escape",
    ].map((name) => [name, false]),
  );
  const key = {
    ...none,
    ctrl: false,
    shift: false,
    tab: false,
    backspace: false,
    delete: false,
    meta: false,
  } as Parameters<typeof pressesOf>[1];

  it("are text and Enter only where Enter is last", () => {
    expect(pressesOf("hello\r", key).map((press) => press.key)).toEqual(["text", "enter"]);
    expect(pressesOf("two\rlines", key).map((press) => press.key)).toEqual(["text"]);
  });

  it("are keys of their own where Ctrl was held", () => {
    const keys = pressesOf("wrong\u0015right\u0001\r", key).map((press) => [
      press.key,
      press.text,
      press.ctrl,
    ]);
    expect(keys).toEqual([
      ["text", "wrong", false],
      ["text", "u", true],
      ["text", "right", false],
      ["text", "a", true],
      ["enter", "", false],
    ]);
  });
});

describe("a call that is told in words", () => {
  it.each([
    ["stopped", "Tool look: stopped"],
    ["not run", "Tool look: not run"],
    ["Tool call denied by user", "Tool look: not run: Tool call denied by user"],
  ])("says %s once [FR-TUI-02]", (reason, line) => {
    const standing = { state: "resolved", reason } as const;
    const blank = { summary: "", files: [], moreFiles: 0, tail: [], lineCount: 0 };
    const call = { index: 0, id: "a", name: "look", standing, ...blank };
    expect(entryLines({ kind: "call", call })).toEqual([line]);
  });
});

describe("what was said before", () => {
  it("is shown with what calls came to [FR-RES-05]", () => {
    const entries = historyEntries([
      { kind: "user", text: "hi", at: 0 },
      { kind: "reasoning", text: "hm", at: 0 },
      { kind: "tool_use", id: "a", name: "read_file", arguments: "{}", at: 0 },
      { kind: "tool_result", id: "a", name: "read_file", isError: true, content: "gone\nmore", at: 0 },
      { kind: "tool_use", id: "b", name: "read_file", arguments: "{}", at: 0 },
      { kind: "assistant", text: "done", at: 0 },
    ]);
    expect(entries).toMatchObject([
      { kind: "user", text: "hi" },
      { kind: "call", call: { standing: { state: "completed", isError: true, said: "gone" } } },
      { kind: "call", call: { standing: { state: "pending" } } },
      { kind: "assistant", text: "done", first: true },
    ]);
  });

  it("is not shown from the beginning when it is long", () => {
    const turns = Array.from({ length: 150 }, (_, at) => ({ kind: "user", text: String(at), at }) as const);
    const entries = historyEntries(turns);
    expect(entries).toHaveLength(101);
    expect(entries[0]).toMatchObject({ text: "50 earlier entries are not shown." });
  });
});
