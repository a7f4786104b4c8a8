import { CATALOGUE, type CallAnswer, type ErrorCode, type Failure, failure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failureText, resultForModel } from "./results.ts";
import { MESSAGES } from "./settings.ts";

const COMMON = {
  callId: "c",
  executionId: "e",
  tool: "sp.read_file",
  version: "1.0.0",
  operation: "run",
  attempts: 1,
  lifecycle: [],
  startedAt: 0,
  completedAt: 0,
  usage: { durationMs: 1_500, cpuMs: 0, memoryPeakBytes: 0, networkBytesSent: 0, networkBytesReceived: 0 },
  warnings: [],
  replayed: false,
};

const failed = (error: Failure): CallAnswer => ({ ...COMMON, status: "error", error });
const textOf = (code: ErrorCode, context?: Parameters<typeof failure>[1]) =>
  resultForModel(failed(failure(code, context)), { name: "read_file" }).content;

describe("what the model is told of a call", () => {
  it("is a text result as it is, and any other as compact JSON [FR-OUT-04]", () => {
    const told = (result: CallAnswer & { status: "success" }) =>
      resultForModel(result, { name: "read_file" });
    expect(told({ ...COMMON, status: "success", result: "a\nb" })).toMatchObject({
      isError: false,
      content: "a\nb",
    });
    expect(told({ ...COMMON, status: "success", result: { a: [1, null] } }).content).toBe('{"a":[1,null]}');
    expect(told({ ...COMMON, status: "success", result: null }).content).toBe("null");
  });

  it.each<[ErrorCode, Parameters<typeof failure>[1], string]>([
    ["E3901", { message: "/path must be a string" }, "Bad args: /path must be a string"],
    ["E3103", { details: { timeoutMs: 30_000 } }, "Tool 'read_file' timed out after 30s"],
    ["E3103", {}, "Tool 'read_file' timed out after 1.5s"],
    ["E3907", { message: "sp.read_file failed: no such file" }, "read_file failed: no such file"],
    [
      "E3951",
      { message: "Patch failed for a.txt: match not found" },
      "Patch failed for a.txt: match not found",
    ],
    [
      "E3951",
      { message: "match not found", details: { file: "a.txt" } },
      "Patch failed for a.txt: match not found",
    ],
    ["E3952", { message: "Stale file a.txt: it changed" }, "Stale file a.txt: it changed"],
    ["E3001", { message: "Unknown tool: read_fil" }, "Unknown tool: read_fil"],
    ["E3957", { message: "Arguments are 9 bytes; max_tool_args_bytes is 8" }, "Arguments are 9 bytes; max"],
    ["E3955", { message: "/etc/passwd is outside" }, "/etc/passwd is outside"],
    ["E3953", { message: "Tool 'x' is on the denylist" }, "Tool 'x' is on the denylist"],
  ])("begins for %s %j as laid down [NFR-ERR-01] [NFR-ERR-02]", (code, context, beginning) => {
    expect(textOf(code, context).startsWith(beginning)).toBe(true);
  });

  it("is to the letter where the words are laid down [NFR-ERR-01] [NFR-ERR-02]", () => {
    expect(textOf("E3906", { message: "The call was cancelled: x" })).toBe("Cancelled by user");
    expect(textOf("E3214", { details: { reason: "" } })).toBe("Tool call denied by user");
    expect(textOf("E3214", { details: { reason: "not today" } })).toBe("Tool call denied by user: not today");
    for (const message of [MESSAGES.disabled, MESSAGES.disabledByPolicy]) {
      expect(textOf("E3954", { message })).toBe(message);
    }
    expect(textOf("E3957", { message: MESSAGES.maxIterations })).toBe("Max tool iterations reached");
  });

  it("gives advice the model can follow, every issue, and what a command said [NFR-ERR-01]", () => {
    expect(textOf("E3952", { message: "x" })).toContain("Read the file again before changing it.");
    expect(textOf("E3953", { message: "x" })).not.toContain("denylist, or");
    const issues = [1, 2, 3].map((n) => ({ path: `/p${n}`, reason: "is wrong" }));
    expect(textOf("E3901", { message: "not valid", issues })).toContain("- /p3 is wrong");
    const details = { exitCode: 1, stdout: "FAIL a.test.ts", stderr: "boom" };
    expect(textOf("E3108", { details })).toBe(
      "read_file failed: exit code 1\n[stdout]\nFAIL a.test.ts\n[stderr]\nboom",
    );
  });

  it("gives the advice of the very case, whatever the code, and says it once [NFR-ERR-01]", () => {
    for (const code of ["E3901", "E3907", "E3955"] as const) {
      const text = textOf(code, { message: "The path a is absolute.", advice: "Use a relative one." });
      expect(text).toMatch(/The path a is absolute\.\nUse a relative one\.$/);
    }
    const repeated = { message: "x. Use a relative one.", advice: "Use a relative one." };
    expect(textOf("E3955", repeated)).toBe("x. Use a relative one.");
    expect(textOf("E3907", { message: "x" })).toBe("read_file failed: x");
    expect(textOf("E3901", { message: "x" })).toBe("Bad args: x");
  });

  it("has words for every entry of the catalogue [NFR-ERR-01] [NFR-ERR-02]", () => {
    for (const code of Object.keys(CATALOGUE) as ErrorCode[]) {
      const { isError, content } = failureText(failure(code), "t");
      expect(isError).toBe(true);
      expect(content.length).toBeGreaterThan(5);
    }
  });
});

describe("a tool's own JSON error", () => {
  it("passes to the byte, with or without the engine's prefix [FR-ERR-JSON-TOOL-01] [FR-ERR-JSON-TOOL-02]", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.constantFrom("", "  ", "\n"),
        (value, space) => {
          const json = space + JSON.stringify(value, null, 1);
          for (const message of [json, `sp.read_file failed: ${json}`]) {
            const told = resultForModel(failed(failure("E3907", { message })), { name: "read_file" });
            expect(told).toEqual({ isError: true, whole: true, content: json });
          }
        },
      ),
    );
  });

  it("is only an object: other texts are prefixed [FR-ERR-JSON-TOOL-01]", () => {
    for (const message of ["[1]", '"x"', "12", "null", "{not json", "{}x"]) {
      const told = resultForModel(failed(failure("E3907", { message })), { name: "read_file" });
      expect(told).toEqual({ isError: true, whole: false, content: `read_file failed: ${message}` });
    }
  });

  it("passes only for the tool's own failure, not for a message that happens to be JSON [FR-ERR-JSON-TOOL-01]", () => {
    expect(failureText(failure("E3901", { message: "{}" }), "t")).toMatchObject({ whole: false });
    expect(failureText(failure("E3901", { message: "{}" }), "t").content).toMatch(/^Bad args: \{\}/);
  });
});
