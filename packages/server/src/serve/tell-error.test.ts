import pino from "pino";
import { describe, expect, it } from "vitest";
import { tellError } from "./serve.ts";

function told(code: string): { level: string; msg: string } {
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  tellError({ error: new Error("broken"), code, callId: "c-1" }, log);
  const [{ level, msg, callId }] = lines.map((line) => JSON.parse(line));
  expect(callId).toBe("c-1");
  return { level: pino.levels.labels[level] ?? "", msg };
}

describe("what went wrong inside", () => {
  it.each(["E3102", "E3103", "E3108", "E3907", "E3962", "E3963", "E3964"])(
    "is a warning when a tool failed (%s) [R1-4.4]",
    (code) => {
      expect(told(code)).toEqual({ level: "warn", msg: "A tool failed" });
    },
  );

  it("is a plain note when a worker says itself that it failed [AX-ENV-1]", () => {
    expect(told("E3961")).toEqual({ level: "info", msg: "A worker reported a failure" });
  });

  it("is an error when the server failed, and no trouble when somebody cancelled [R1-4.4]", () => {
    expect(told("E3914")).toEqual({ level: "error", msg: "Something went wrong inside" });
    expect(told("E3906")).toEqual({ level: "debug", msg: "A call was cancelled" });
  });
});
