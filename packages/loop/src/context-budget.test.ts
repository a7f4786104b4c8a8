import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { capacityBytes, estimateTokens, fitHistory } from "./context-budget.ts";
import type { Turn } from "./conversations-port.ts";

describe("room for tool results", () => {
  const window = { contextTokens: 10_000, responseReserveTokens: 4_000 };

  it("is what the context leaves after history, answer and margin, at four bytes a token [FR-REG-04]", () => {
    expect(capacityBytes(window, 1_000)).toBe((10_000 - 1_000 - 4_000 - 256) * 4);
  });

  it("is none, never less, when the context is full [FR-REG-04]", () => {
    expect(capacityBytes(window, 5_744)).toBe(0);
    expect(capacityBytes(window, 5_743)).toBe(4);
    expect(capacityBytes(window, 1e9)).toBe(0);
  });

  it("is 64 KiB where the context or its use is not known [FR-REG-04]", () => {
    expect(capacityBytes({ responseReserveTokens: 10 }, 5)).toBe(65_536);
    expect(capacityBytes(window, undefined)).toBe(65_536);
    expect(capacityBytes(window, Number.NaN)).toBe(65_536);
  });
});

describe("estimating the tokens of a history", () => {
  const turns: Turn[] = [
    { kind: "user", text: "hello", at: 0 },
    { kind: "reasoning", text: "hm", at: 0, meta: { p: { signature: "abcd" } } },
    { kind: "tool_use", id: "1", name: "read", arguments: "{}", at: 0 },
    { kind: "tool_result", id: "1", name: "read", isError: false, content: "€", at: 0 },
  ];

  it("counts bytes, each turn rounded up [FR-REG-04]", () => {
    const bytes = [5, 2 + JSON.stringify({ p: { signature: "abcd" } }).length, 7, 8];
    expect(estimateTokens(turns)).toBe(bytes.reduce((sum, one) => sum + Math.ceil(one / 4), 0));
    expect(estimateTokens([], "12345")).toBe(2);
    expect(estimateTokens([])).toBe(0);
  });

  it("is never less than a quarter of the bytes of all that is said [FR-REG-04]", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (texts) => {
        const said = texts.map((text): Turn => ({ kind: "user", text, at: 0 }));
        expect(estimateTokens(said) * 4).toBeGreaterThanOrEqual(Buffer.byteLength(texts.join("")));
      }),
    );
  });
});

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
