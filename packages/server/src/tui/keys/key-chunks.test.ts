import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Arrival, isOneKey, KeyChunks } from "./key-chunks.ts";
import { firstKey, type Press } from "./press.ts";

const text = (typed: string, change: Partial<Press> = {}): Press => ({
  key: "text",
  text: typed,
  ctrl: false,
  alt: false,
  ...change,
});
const arrival = (press: Press): Arrival => ({ kind: "press", press });

function keysOf(press: Press, writing: boolean): string[] {
  const [first, rest] = firstKey(press, { writing });
  const name = first.key === "text" ? `${first.ctrl ? "^" : ""}${first.text}` : first.key;
  return [name, ...(rest === undefined ? [] : keysOf(rest, writing))];
}

describe("what comes from the terminal in one piece", () => {
  it("is taken together, and the next piece by itself", async () => {
    const taken: number[] = [];
    const chunks = new KeyChunks((chunk) => taken.push(chunk.length));
    for (const letter of "abc") chunks.add(arrival(text(letter)));
    await Promise.resolve();
    chunks.add({ kind: "paste", text: "d" });
    await Promise.resolve();
    expect(taken).toEqual([3, 1]);
  });

  it("is one key or several [FR-TUI-01]", () => {
    const one = [
      text("a"),
      text("é"),
      text("👍"),
      text("c", { ctrl: true }),
      { ...text(""), key: "enter" } as const,
    ];
    expect(one.map((press) => isOneKey([arrival(press)]))).toEqual(one.map(() => true));
    expect(isOneKey([arrival(text("aa"))])).toBe(false);
    expect(isOneKey([arrival(text("a")), arrival(text("b"))])).toBe(false);
    expect(isOneKey([{ kind: "paste", text: "a" }])).toBe(false);
  });

  it("falls into its keys; text that is written stays together", () => {
    expect(keysOf(text("jj y\r\t\u0013"), false)).toEqual(["j", "j", " ", "y", "enter", "tab", "^s"]);
    expect(keysOf(text("two words\rmore\u0013"), true)).toEqual(["two words", "enter", "more", "^s"]);
    expect(keysOf(text("b", { alt: true }), false)).toEqual(["b"]);
  });

  it("loses nothing printable [FR-TUI-01]", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), fc.boolean(), (typed, writing) => {
        expect(keysOf(text(typed), writing).join("")).toBe(typed);
      }),
    );
  });
});
