import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { graphemesOf } from "../state/cell-width.ts";
import { type Draft, draftOf, EMPTY_DRAFT, edited, typed } from "./draft.ts";
import { draftRows } from "./draft-rows.ts";
import { EMPTY_HISTORY, recalled, remembered } from "./line-history.ts";
import type { Press } from "./press.ts";

function press(key: Press["key"], change: Partial<Press> = {}): Press {
  return { key, text: "", ctrl: false, alt: false, ...change };
}

const keys = fc.constantFrom<Press["key"]>(
  "leftArrow",
  "rightArrow",
  "upArrow",
  "downArrow",
  "home",
  "end",
  "backspace",
  "delete",
  "newline",
);
const presses = fc.array(
  fc.oneof(
    fc.record({ key: keys, text: fc.constant(""), ctrl: fc.boolean(), alt: fc.boolean() }),
    fc.constantFrom("a", "漢", "👍🏽", "e\u0301", " ").map((text) => press("text", { text })),
    fc.constantFrom("a", "e", "w", "u", "k").map((text) => press("text", { text, ctrl: true })),
  ),
  { maxLength: 60 },
);

describe("writing", () => {
  it("keeps the cursor between two characters, whatever is pressed", () => {
    fc.assert(
      fc.property(presses, (pressed) => {
        let draft: Draft = EMPTY_DRAFT;
        for (const one of pressed) {
          draft = edited(draft, one) ?? draft;
          const whole = graphemesOf(draft.text.slice(0, draft.cursor)).concat(
            graphemesOf(draft.text.slice(draft.cursor)),
          );
          expect(whole.join("")).toBe(draft.text);
          expect(draft.cursor).toBeLessThanOrEqual(draft.text.length);
          const { rows, row } = draftRows(draft, { width: 7, height: 5 });
          expect(rows[row]).toBeDefined();
        }
      }),
    );
  });

  it("takes away a whole character", () => {
    expect(edited(draftOf("a👍🏽"), press("backspace"))).toEqual(draftOf("a"));
    expect(edited({ text: "漢字", cursor: 0 }, press("delete"))).toEqual({ text: "字", cursor: 0 });
  });

  it("keeps the lines of what is pasted and nothing that acts on a terminal [NFR-SEC-05]", () => {
    expect(typed(draftOf("a"), "1\r\n2\u001b[2J\t3").text).toBe("a1\n2  3");
  });

  it("moves over lines and words", () => {
    const draft = { text: "one two\nthree", cursor: 13 };
    expect(edited(draft, press("upArrow"))?.cursor).toBe(5);
    expect(edited(draft, press("text", { text: "a", ctrl: true }))?.cursor).toBe(8);
    expect(edited({ ...draft, cursor: 7 }, press("text", { text: "w", ctrl: true }))?.text).toBe(
      "one \nthree",
    );
    expect(edited({ ...draft, cursor: 3 }, press("upArrow"))).toBeUndefined();
  });
});

describe("what was entered before", () => {
  it("comes back, and what was being written too", () => {
    const history = ["one", "two", "two"].reduce(remembered, EMPTY_HISTORY);
    const first = recalled(history, draftOf("new"), -1);
    expect(first.draft.text).toBe("two");
    const second = recalled(first.history, first.draft, -1);
    expect(second.draft.text).toBe("one");
    expect(recalled(second.history, second.draft, -1).draft.text).toBe("one");
    const back = recalled(recalled(second.history, second.draft, 1).history, first.draft, 1);
    expect(back.draft.text).toBe("new");
  });
});
