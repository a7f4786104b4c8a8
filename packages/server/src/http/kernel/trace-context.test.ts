import { describe, expect, it } from "vitest";
import { traceContext } from "./trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const PARENT = `00-${TRACE}-${SPAN}-01`;

describe("trace context", () => {
  it.each([PARENT, `01-${TRACE}-${SPAN}-00`, `cc-${TRACE}-${SPAN}-01-what-the-future-brings`])(
    "%s is passed on",
    (parent) => {
      expect(traceContext(parent, "rojo=00f067aa0ba902b7, congo@t=1")).toEqual({
        traceparent: parent,
        tracestate: "rojo=00f067aa0ba902b7, congo@t=1",
      });
    },
  );

  it.each([
    undefined,
    "",
    `ff-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    `${PARENT}, ${PARENT}`,
    `cc-${TRACE}-${SPAN}-01-${"x".repeat(300)}`,
  ])("%s is dropped with its state", (parent) => {
    expect(traceContext(parent, "a=b")).toBeUndefined();
  });

  it.each(["", "no-value", "A=b", "a=b\u0001", "a=b,".repeat(33), `a=${"b".repeat(300)}`, ["a=b"]])(
    "a state that does not hold is dropped alone: %j",
    (state) => {
      expect(traceContext(PARENT, state)).toEqual({ traceparent: PARENT });
    },
  );
});
