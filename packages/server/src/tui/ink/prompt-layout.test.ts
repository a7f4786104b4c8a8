import { failure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { COMMAND, PATCH } from "../fixtures/questions.ts";
import { type ApprovalPrompt, approvalPrompt } from "../keys/approval-prompt.ts";
import { askedQuestions } from "../keys/asked-questions.ts";
import { EMPTY_DRAFT } from "../keys/draft.ts";
import { standingScopesFor } from "../standing-scopes.ts";
import { type PromptLayout, promptLayout } from "./prompt-layout.ts";
import { questionHeight } from "./question-rows.ts";

const commands = { standingScopes: standingScopesFor("user") };

function prompt(name = "apply_patch", change: Partial<ApprovalPrompt> = {}): ApprovalPrompt {
  const refusals = new Map([[1, { error: failure("E3951", { message: "It does not fit. ".repeat(9) }) }]]);
  const asked = askedQuestions([{ ...PATCH, name }, COMMAND, { ...PATCH, index: 2 }], { refusals, commands });
  return { ...approvalPrompt(asked), at: 0, ...change };
}

const scopes = commands.standingScopes(PATCH);
const prompts = fc
  .record({
    name: fc.constantFrom(
      "ls",
      "apply_patch",
      "a_tool_with_a_long_name_of_forty_letters_",
      "漢字".repeat(10),
    ),
    at: fc.nat(2),
    view: fc.constantFrom("changes", "arguments", "nothing" as const),
    hint: fc.constantFrom("", "Nothing is selected."),
    doing: fc.constantFrom<ApprovalPrompt["doing"]>(
      { task: "choose" },
      { task: "help" },
      { task: "reason", draft: EMPTY_DRAFT },
      { task: "scope", at: 1, scopes },
      { task: "edit", draft: EMPTY_DRAFT, problem: "Not JSON" },
    ),
  })
  .map(({ name, hint, ...change }) => prompt(name, { ...change, ...(hint !== "" && { hint }) }));

/** All rows it takes, the one that stays free included. */
function heightOf({ asked, at }: ApprovalPrompt, layout: PromptLayout): number {
  const current = asked[at]?.question ?? PATCH;
  const flags = [layout.title, layout.banner, layout.because, layout.hint, layout.margin, layout.status];
  return (
    flags.filter(Boolean).length +
    questionHeight(current, layout.width) +
    (layout.listed.length - 1) +
    layout.refusal.length +
    (layout.detail.heading ? 1 : 0) +
    layout.detail.rows +
    layout.task +
    layout.keys +
    (layout.framed ? 2 : 0) +
    1
  );
}

describe("the rows of an approval prompt", () => {
  it("are never more than the window has, with the question and a row of keys among them [FR-TUI-01]", () => {
    const sizes = { columns: fc.integer({ min: 1, max: 130 }), rows: fc.integer({ min: 1, max: 50 }) };
    fc.assert(
      fc.property(prompts, fc.record({ ...sizes, taken: fc.nat(1) }), (some, room) => {
        const layout = promptLayout(some, room);
        if (!layout.fits) return;
        expect(heightOf(some, layout) + room.taken).toBeLessThanOrEqual(room.rows);
        expect(layout.listed).toContain(some.at);
        expect(layout.keys).toBeGreaterThanOrEqual(1);
      }),
    );
  });

  it.each([
    [80, 24],
    [80, 8],
    [80, 6],
    [40, 8],
    [20, 6],
  ])("are enough for name and question at %i×%i [FR-TUI-01]", (columns, rows) => {
    expect(promptLayout(prompt(), { columns, rows, taken: 0 })).toMatchObject({ fits: true, title: true });
  });

  it.each([
    [80, 3],
    [19, 40],
    [1, 1],
  ])("are said to be too few at %i×%i [FR-TUI-01]", (columns, rows) => {
    expect(promptLayout(prompt(), { columns, rows, taken: 0 }).fits).toBe(false);
  });

  it("are too few where a long name would be cut [FR-TUI-01] [NFR-SEC-05]", () => {
    const long = prompt("a_tool_with_a_long_name_of_forty_letters_");
    expect(promptLayout(long, { columns: 20, rows: 6, taken: 0 }).fits).toBe(false);
    expect(promptLayout(long, { columns: 20, rows: 8, taken: 0 }).fits).toBe(true);
  });

  it("go to the changes when nothing else wants them [FR-TUI-01]", () => {
    const [low, high] = [24, 40].map((rows) => promptLayout(prompt(), { columns: 80, rows, taken: 0 }));
    expect((high?.detail.rows ?? 0) - (low?.detail.rows ?? 0)).toBe(16);
  });
});
