import type { ApprovalDecision } from "@sallyport/engine/loop";
import { failure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { COMMAND, PATCH } from "../fixtures/questions.ts";
import { standingScopesFor } from "../standing-scopes.ts";
import { type ApprovalPrompt, approvalPrompt, DEAF_MS } from "./approval-prompt.ts";
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
  return approvalPrompt(askedQuestions([PATCH, COMMAND], { refusals, commands }), 0);
}

function pressOf(key: string): Press {
  const named = NAMED[key];
  if (named) return { key: named, text: "", ctrl: false, alt: false };
  return key.startsWith("^")
    ? { key: "text", text: key.slice(1), ctrl: true, alt: false }
    : { key: "text", text: key, ctrl: false, alt: false };
}

function pressed(keys: readonly string[], from = prompt(), now = DEAF_MS): ApprovalPrompt | ApprovalDecision {
  let current = from;
  for (const key of keys) {
    const step = promptKey(current, pressOf(key), { now, shown: { page: 4, most: 10 } });
    if (step.kind === "decided") return step.decision;
    current = step.prompt;
  }
  return current;
}

describe("the approval prompt", () => {
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

  it("is deaf to what was pressed before it could be read [FR-TUI-01]", () => {
    const deaf = pressed(["a", " ", "Enter", "Esc"], prompt(), DEAF_MS - 1);
    expect(deaf).toEqual({ ...prompt(), shownAt: DEAF_MS - 1 });
    if (!("doing" in deaf)) throw new Error("decided too early");
    expect(pressed(["a"], deaf, 2 * DEAF_MS - 2)).toMatchObject({ words: new Map() });
    expect(pressed(["a"], deaf, 2 * DEAF_MS)).toEqual({ kind: "approve_all" });
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
    const saved = pressed([...'{"patch":1}', "^s"], { ...prompt(), doing: empty });
    expect(saved).toMatchObject({ view: "arguments", asked: [{ editable: '{\n  "patch": 1\n}' }, {}] });
    if (!("doing" in saved)) throw new Error("decided too early");
    expect(saved.asked[0]?.question).not.toHaveProperty("preview");
    expect(pressed(["Enter"], saved)).toEqual({
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
