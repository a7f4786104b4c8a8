import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateTokens, fitHistory } from "./context-budget.ts";
import type { Turn } from "./conversations-port.ts";

/** What the person says, and what the model does about it: calls with their results, then words. */
const exchange = fc
  .record({ said: fc.string({ maxLength: 40 }), calls: fc.nat(3), words: fc.string({ maxLength: 40 }) })
  .map(({ said, calls, words }): Turn[] => {
    const ids = Array.from({ length: calls }, (_, n) => `c${n}`);
    return [
      { kind: "user", text: `p${said}`, at: 0 },
      ...ids.map((id): Turn => ({ kind: "tool_use", id, name: "look", arguments: "{}", at: 0 })),
      ...ids.map(
        (id): Turn => ({ kind: "tool_result", id, name: "look", isError: false, content: said, at: 0 }),
      ),
      ...(words === "" ? [] : [{ kind: "assistant", text: words, at: 0 } as const]),
    ];
  });

describe("what of a history fits", () => {
  it("is whole exchanges, the newest ones, as many as fit and at least one [FR-REG-04]", () => {
    fc.assert(
      fc.property(fc.array(exchange, { minLength: 1, maxLength: 12 }), fc.nat(200), (exchanges, most) => {
        const turns = exchanges.flat();
        const kept = fitHistory(turns, most).turns;
        const tails = exchanges.map((_, from) => exchanges.slice(from).flat());
        const fitting = tails.find((tail) => estimateTokens(tail) <= most) ?? tails.at(-1);
        expect(kept).toEqual(fitting);
      }),
    );
  });

  it("counts the messages that are left out, a batch of results as one", () => {
    const use = { kind: "tool_use", id: "a", name: "look", arguments: "{}", at: 0 } as const;
    const turns: Turn[] = [
      { kind: "user", text: "first", at: 0 },
      use,
      { ...use, id: "b" },
      { kind: "tool_result", id: "a", name: "look", isError: false, content: "x", at: 0 },
      { kind: "tool_result", id: "b", name: "look", isError: false, content: "x", at: 0 },
      { kind: "assistant", text: "seen", at: 0 },
      { kind: "user", text: "second", at: 0 },
    ];
    expect(fitHistory(turns, 0)).toEqual({ turns: turns.slice(6), leftOut: 4 });
    expect(fitHistory(turns, 1_000)).toEqual({ turns, leftOut: 0 });
    expect(fitHistory([], 0)).toEqual({ turns: [], leftOut: 0 });
  });

  it("begins with the very first turn, whoever spoke it", () => {
    const turns: Turn[] = [
      { kind: "assistant", text: "hello", at: 0 },
      { kind: "user", text: "hi", at: 0 },
    ];
    expect(fitHistory(turns, 3).turns).toEqual(turns);
    expect(fitHistory(turns, 2)).toEqual({ turns: turns.slice(1), leftOut: 1 });
  });
});
