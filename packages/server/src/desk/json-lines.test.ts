import type { JsonObject } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { JsonLines } from "./json-lines.ts";

function read(
  chunks: readonly (string | Buffer)[],
  maxChars = 20,
): { words: JsonObject[]; nonsense: number } {
  const found = { words: [] as JsonObject[], nonsense: 0 };
  const lines = new JsonLines({
    maxChars,
    onWords: (words) => found.words.push(words),
    onNonsense: () => {
      found.nonsense += 1;
    },
  });
  for (const chunk of chunks) lines.take(Buffer.from(chunk));
  return found;
}

describe("lines of JSON", () => {
  it("are read wherever they are cut, also within a character", () => {
    const bytes = Buffer.from('{"a":"ü"}\n{"b":2}\n{"c"');
    for (let cut = 0; cut <= bytes.length; cut += 1)
      expect(read([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual({
        words: [{ a: "ü" }, { b: 2 }],
        nonsense: 0,
      });
  });

  it.each([
    ["a line that is too long", ['{"a":1}\n', "x".repeat(12), "x".repeat(12), '\n{"b":2}\n']],
    ["a long line that has ended", [`{"a":1}\n"${"x".repeat(30)}"\n{"b":2}\n`]],
    ["what is no object", ['{"a":1}\n[2]\n{"b":2}\n']],
    ["what is no JSON", ['{"a":1}\n{"b"\n{"b":2}\n', "and more\n"]],
  ])("end with %s, and nothing after it is read", (_what, chunks) => {
    expect(read(chunks)).toEqual({ words: [{ a: 1 }], nonsense: 1 });
  });
});
