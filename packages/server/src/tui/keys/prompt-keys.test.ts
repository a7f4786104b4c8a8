import { readFileSync } from "node:fs";
import type { ApprovalDecision } from "@sallyport/loop";
import { failure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { COMMAND, PATCH } from "../fixtures/questions.ts";
import { standingScopesFor } from "../standing-scopes.ts";
import { type ApprovalPrompt, approvalPrompt, type ShownPrompt } from "./approval-prompt.ts";
import { askedQuestions } from "./asked-questions.ts";
import { EMPTY_DRAFT } from "./draft.ts";
import type { Press } from "./press.ts";
import { hintLines, promptHints } from "./prompt-hints.ts";
import { promptKey, promptPaste } from "./prompt-keys.ts";

const commands = { standingScopes: standingScopesFor("user") };
const NAMED: Record<string, Press["key"]> = {
  Enter: "enter",
  Esc: "escape",
  Down: "downArrow",
  Up: "upArrow",
  Tab: "tab",
  PgDn: "pageDown",
};

function prompt(refusals = new Map()): ApprovalPrompt {
  return approvalPrompt(askedQuestions([PATCH, COMMAND], { refusals, commands }));
}

function pressOf(key: string): Press {
  const named = NAMED[key];
  if (named) return { key: named, text: "", ctrl: false, alt: false };
  return key.startsWith("^")
    ? { key: "text", text: key.slice(1), ctrl: true, alt: false }
    : { key: "text", text: key, ctrl: false, alt: false };
}

const SHOWN: ShownPrompt = { fits: true, page: 4, most: 10, unseen: 0, scopes: "all" };

interface Circumstances {
  from?: ApprovalPrompt;
  shown?: Partial<ShownPrompt>;
  alone?: boolean;
}

function pressed(
  keys: readonly string[],
  { from = prompt(), shown, alone = true }: Circumstances = {},
): ApprovalPrompt | ApprovalDecision {
  let current = from;
  for (const key of keys) {
    const step = promptKey(current, pressOf(key), { shown: { ...SHOWN, ...shown }, alone });
    if (step.kind === "decided") return step.decision;
    current = step.prompt;
  }
  return current;
}

describe("the approval prompt", () => {
  it("has the keys that the picture in README.md shows, at 80 columns", () => {
    const one = approvalPrompt(askedQuestions([PATCH], { refusals: new Map(), commands }));
    const lines = hintLines(promptHints(one), 78).map(
      (line) => ` ${line.map((hint) => hint.join(" ")).join("  ")}\n`,
    );
    const readme = readFileSync(new URL("../../../../../README.md", import.meta.url), "utf8");
    expect(readme).toContain(`╯\n${lines.join("")} asks you`);
  });

  it.each<[string, string[], ApprovalDecision]>([
    ["a approves all", ["a"], { kind: "approve_all" }],
    ["Esc denies all", ["Esc"], { kind: "deny_all" }],
    ["d and Enter deny all", ["d", "Enter"], { kind: "deny_all" }],
    ["d takes a reason", ["d", "n", "o", "Enter"], { kind: "deny_all", reason: "no" }],
    ["space and Enter approve one", [" ", "Enter"], { kind: "approve_selected", indexes: [0] }],
    ["j selects the next", ["j", " ", "Enter"], { kind: "approve_selected", indexes: [1] }],
    ["arrows move too", ["Down", " ", "Up", " ", "Enter"], { kind: "approve_selected", indexes: [0, 1] }],
    ["space twice takes it back", [" ", " ", "j", " ", "Enter"], { kind: "approve_selected", indexes: [1] }],
  ])("%s [FR-TUI-01]", (_, keys, decision) => {
    expect(pressed(keys)).toEqual(decision);
  });

  it("approves nothing by Enter alone, and says so [FR-TUI-01]", () => {
    expect(pressed(["Enter", "Enter"])).toMatchObject({
      hint: expect.stringContaining("Nothing is selected"),
    });
  });

  it("approves nothing by keys that come together, whatever they are [FR-TUI-01] [NFR-SEC-05]", () => {
    const keys = fc.array(fc.constantFrom(..."aAxjkpvedJK?123 yn", "Enter", "Down", "^s", "^x", "^d", "Tab"));
    fc.assert(
      fc.property(keys, (some) => {
        const after = pressed(some, { alone: false });
        if ("doing" in after) expect(after.words.size).toBe(0);
        else expect(after.kind).toBe("deny_all");
      }),
    );
  });

  it("moves and scrolls by keys that come together, in their order [FR-TUI-01]", () => {
    expect(pressed(["j", "J", "J", "v"], { alone: false })).toMatchObject({ at: 1, view: "nothing" });
    expect(pressed(["J", "J", "K"], { alone: false })).toMatchObject({ scroll: 1 });
    expect(pressed(["j", "j", "a"], { alone: false })).toMatchObject({
      at: 0,
      hint: expect.stringMatching(/by itself/),
    });
    expect(pressed(["d", "n", "o", "Enter"], { alone: false })).toEqual({ kind: "deny_all", reason: "no" });
  });

  it("can only be denied where it cannot be shown [FR-TUI-01] [NFR-SEC-05]", () => {
    const keys = fc.array(fc.constantFrom(..."aAxjkpveJK?123 yn", "Enter", "Down", "^s", "^x"));
    fc.assert(
      fc.property(keys, (some) => {
        expect(pressed(some, { shown: { fits: false } })).toEqual(prompt());
      }),
    );
    for (const key of ["d", "Esc"]) {
      expect(pressed([key], { shown: { fits: false } })).toEqual({ kind: "deny_all" });
    }
  });

  it("approves all only when each was on the screen once [FR-TUI-01] [NFR-SEC-05]", () => {
    expect(pressed(["a"], { shown: { unseen: 2 } })).toMatchObject({
      words: new Map(),
      hint: "2 calls were not shown yet: j goes on to the next.",
    });
  });

  it("allows from now on only within a scope that is on the screen [FR-TUI-01] [NFR-SEC-05]", () => {
    expect(pressed(["A", "3"], { shown: { scopes: "current" } })).toMatchObject({ doing: { task: "scope" } });
    expect(pressed(["A", "Enter"], { shown: { scopes: "none" } })).toMatchObject({
      doing: { task: "scope" },
    });
    expect(pressed(["A", "j", "Enter"], { shown: { scopes: "current" } })).toMatchObject({
      words: new Map([[0, { kind: "approve", always: { arguments: "exact", agent: "this", tier: "user" } }]]),
    });
  });

  it("never approves what came in one piece, such as a paste [FR-TUI-01]", () => {
    expect(pressed(["aaa", "a\r", "yes, a"])).toMatchObject({ words: new Map() });
    expect(promptPaste(prompt(), "a\n")).toEqual(prompt());
  });

  it("approves only by a, or by what was selected [FR-TUI-01]", () => {
    const keys = fc.array(
      fc.constantFrom("Enter", "Down", "j", "k", "p", "v", "?", "x".repeat(2), "^d", "^u", "J", "y", "1"),
    );
    fc.assert(
      fc.property(keys, (some) => {
        expect(pressed(some)).toHaveProperty("asked");
      }),
    );
  });

  it("gives the edited arguments, and shows no stale preview beside them [FR-TUI-01]", () => {
    const empty = { task: "edit", draft: EMPTY_DRAFT } as const;
    const saved = pressed([...'{"patch":1}', "^s"], { from: { ...prompt(), doing: empty } });
    expect(saved).toMatchObject({ view: "arguments", asked: [{ editable: '{\n  "patch": 1\n}' }, {}] });
    if (!("doing" in saved)) throw new Error("decided too early");
    expect(saved.asked[0]?.question).not.toHaveProperty("preview");
    expect(pressed(["Enter"], { from: saved })).toEqual({
      kind: "each",
      words: new Map([
        [0, { kind: "edit", input: { patch: 1 } }],
        [1, { kind: "deny" }],
      ]),
    });
  });

  it("keeps what is no JSON in the editor and says why [FR-TUI-01]", () => {
    expect(pressed(["e", "x", "^s"])).toMatchObject({
      doing: { task: "edit", problem: expect.stringContaining("Not JSON") },
    });
    expect(pressed(["e", "x", "^s", "Esc"])).toMatchObject({ doing: { task: "choose" }, words: new Map() });
  });

  it("puts a refused edit in front, with what it was [FR-TUI-01]", () => {
    const refusals = new Map([[1, { error: failure("E3951"), input: { command: "edited" } }]]);
    expect(prompt(refusals)).toMatchObject({
      at: 1,
      asked: [{}, { refusal: { code: "E3951" }, editable: expect.stringContaining("edited") }],
    });
  });

  it("allows from now on where a policy asked, not where the tool always asks [FR-TUI-01]", () => {
    expect(pressed(["A", "2", "Enter"])).toEqual({
      kind: "each",
      words: new Map([
        [0, { kind: "approve", always: { arguments: "exact", agent: "this", tier: "user" } }],
        [1, { kind: "deny" }],
      ]),
    });
    expect(pressed(["j", "A"])).toMatchObject({
      doing: { task: "choose" },
      hint: "This tool asks about every call.",
    });
  });

  it("with all keeps the words that were given [FR-TUI-01]", () => {
    const decision = pressed(["A", "1", "a"]);
    expect(decision).toMatchObject({ kind: "each" });
    expect("words" in decision && decision.words.get(1)).toEqual({ kind: "approve" });
  });

  it("scrolls by what is shown, and not beyond the end [FR-TUI-01]", () => {
    expect(pressed(["PgDn"])).toMatchObject({ scroll: 4 });
    expect(pressed(["PgDn", "PgDn", "PgDn", "PgDn", "PgDn", "^u"])).toMatchObject({ scroll: 6 });
    expect(pressed(["^u"])).toMatchObject({ scroll: 0 });
  });

  it("says what Enter would do", () => {
    const selected = pressed([" "]);
    if (!("doing" in selected)) throw new Error("decided too early");
    expect(promptHints(selected)[0]).toEqual(["Enter", "run 1, deny 1"]);
    const lines = hintLines(promptHints(selected), 30);
    expect(lines.flat()).toEqual(promptHints(selected));
    for (const line of lines)
      expect(line.map((pair) => pair.join(" ")).join("  ").length).toBeLessThanOrEqual(30);
  });
});
