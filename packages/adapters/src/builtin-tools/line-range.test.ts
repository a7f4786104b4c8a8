import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linesOf } from "./read-file.ts";

const text = fc
  .array(fc.constantFrom("a", "é", "\n", "\r\n", "\r"), { maxLength: 40 })
  .map((parts) => parts.join(""));
const line = fc.integer({ min: 1, max: 30 });

describe("a line range", () => {
  it("is what splitting the text would give, byte by byte [T-READ-01]", () => {
    fc.assert(
      fc.property(text, line, fc.option(line, { nil: undefined }), (content, start, length) => {
        const end = length === undefined ? undefined : start + length - 1;
        const lines = content.match(/[^\n]*\n|[^\n]+$/g) ?? [];
        const found = linesOf(Buffer.from(content), { start, ...(end !== undefined && { end }) }, 1e6);
        expect(found.ok && found.lines.toString()).toBe(lines.slice(start - 1, end).join(""));
      }),
    );
  });

  it("is found when it ends within the scan, and not when it ends one byte later [T-READ-02]", () => {
    fc.assert(
      fc.property(text, line, (content, end) => {
        const lines = content.match(/[^\n]*\n|[^\n]+$/g) ?? [];
        const bytes = Buffer.byteLength(lines.slice(0, end).join(""));
        expect(linesOf(Buffer.from(content), { start: 1, end }, bytes).ok).toBe(true);
        if (bytes > 0) expect(linesOf(Buffer.from(content), { start: 1, end }, bytes - 1).ok).toBe(false);
      }),
    );
  });
});
