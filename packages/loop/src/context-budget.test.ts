import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { capacityBytes, estimateTokens } from "./context-budget.ts";
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
