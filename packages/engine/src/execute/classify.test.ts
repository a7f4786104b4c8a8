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

  it("hides secrets in the details of a declared failure, by their name too", () => {
    const details = {
      file: "a.txt",
      password: "hunter2",
      header: "Authorization: Basic aHVudGVyMjpodW50ZXIy",
    };
    const failed = classify({ kind: "threw", message: "no", code: "E3907", details }, context);
    expect(failed.details).toMatchObject({ file: "a.txt", password: expect.stringContaining("REDACTED") });
    expect(JSON.stringify(failed)).not.toMatch(/hunter2|aHVudGVy/);
  });

  it("takes a runner's own failure as it is, without secrets in its details", () => {
    const own = failure("E3961", {
      message: "no such page",
      retryable: true,
      details: { worker: { code: "UPSTREAM_ERROR", details: { url: "/a", password: "hunter2" } } },
    });
    const failed = classify({ kind: "failed", failure: own }, context);
    expect(failed).toMatchObject({ code: "E3961", message: "no such page", retryable: true });
    expect(failed.details).toMatchObject({ worker: { code: "UPSTREAM_ERROR", details: { url: "/a" } } });
    expect(JSON.stringify(failed)).not.toContain("hunter2");
  });

  it("names the limit in words and for programs", () => {
    const failed = classify({ kind: "limit", limit: "openFiles", message: "257 open" }, context);
    expect(failed.message).toContain("open files");
    expect(failed.details).toEqual({ limit: "openFiles" });
  });
});

describe("a run that ended without an answer", () => {
  it("is not said to have had a thread, which only some runners have", () => {
    const failed = classify({ kind: "died", message: "exit 1" }, context);
    expect(failed).toMatchObject({ code: "E3107", message: "runner ended before it answered: exit 1" });
  });
});

describe("what a tool threw [D-12] [FR-EXE-04b]", () => {
  it.each<[string, Extract<RunFault, { kind: "threw" }>, string]>([
    ["an exception", { kind: "threw", message: "kaputt" }, "Tool panicked: kaputt"],
    ["a declared failure", { kind: "threw", message: "no luck", code: "E3907" }, "runner failed: no luck"],
    [
      "a failure with a code of its own",
      { kind: "threw", message: "Stale file a", code: "E3952" },
      "Stale file a",
    ],
    ["a JSON object", { kind: "threw", message: '{"why":1}' }, '{"why":1}'],
  ])("%s is reported as such", (_, fault, message) => {
    expect(classify(fault, context)).toMatchObject({ code: fault.code ?? "E3907", message });
  });
});
