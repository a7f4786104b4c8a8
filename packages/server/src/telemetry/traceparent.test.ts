import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTraceparent } from "./span-tracer.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("traceparent", () => {
  it("is read as W3C writes it", () => {
    expect(readTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, flags: 1 });
    expect(readTraceparent(`cc-${TRACE}-${SPAN}-00-what.comes.later`)).toMatchObject({ flags: 0 });
  });

  it.each([
    ["another length", `00-${TRACE}1-${SPAN}-01`],
    ["upper case", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["no trace", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["no span", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["a version that cannot be", `ff-${TRACE}-${SPAN}-01`],
    ["more than this version says", `00-${TRACE}-${SPAN}-01-more`],
    ["several", `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ["nothing", ""],
  ])("is none with %s", (_what, text) => {
    expect(readTraceparent(text)).toBeUndefined();
  });

  it("keeps its parts, and survives any other text", () => {
    const hex = (length: number) => fc.stringMatching(new RegExp(`^[1-9a-f]{${length}}$`));
    fc.assert(
      fc.property(hex(32), hex(16), fc.integer({ min: 0, max: 255 }), (traceId, spanId, flags) => {
        const text = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, "0")}`;
        expect(readTraceparent(text)).toEqual({ traceId, spanId, flags });
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => readTraceparent(text) === undefined));
  });
});
