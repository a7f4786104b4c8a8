import { failure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { RunFault } from "../ports/runner.ts";
import { classify } from "./classify.ts";

const context = {
  tool: "runner",
  idempotent: false,
  timeoutMs: 10,
  memoryBytes: 20,
  maxOutputBytes: 30,
};

const CODES: [RunFault, string][] = [
  [{ kind: "limit", limit: "disk", message: "2 GiB written" }, "E3102"],
  [{ kind: "timeout" }, "E3103"],
  [{ kind: "crashed", message: "SIGSEGV" }, "E3107"],
  [{ kind: "exit", code: 3, stderr: "no such file" }, "E3108"],
  [{ kind: "violation", message: "mount was called" }, "E3109"],
  [{ kind: "refused", failure: failure("E3101") }, "E3101"],
  [{ kind: "cancelled" }, "E3906"],
];

describe("what a process did gets its code [L3-EXE-4] [MCX-7] [R1-5.2]", () => {
  it.each(CODES)("%j is %s", (fault, code) => {
    expect(classify(fault, context).code).toBe(code);
  });

  it("keeps the exit code and the error output, without secrets in it", () => {
    const failed = classify(
      {
        kind: "exit",
        code: 3,
        stderr: "password=hunter2-hunter2 refused",
        stdout: "password=hunter2-hunter2 used",
      },
      { ...context, idempotent: true },
    );
    expect(failed).toMatchObject({ retryable: true, details: { exitCode: 3 } });
    expect(JSON.stringify(failed)).not.toContain("hunter2");
  });

  it("names the limit in words and for programs", () => {
    const failed = classify({ kind: "limit", limit: "openFiles", message: "257 open" }, context);
    expect(failed.message).toContain("open files");
    expect(failed.details).toEqual({ limit: "openFiles" });
  });
});
