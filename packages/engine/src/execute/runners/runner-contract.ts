import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonValue } from "@sallyport/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Implementation, Job, Runner, RunResult } from "../../ports/runner.ts";
import { createJob, createTestHost } from "./fixtures/job.ts";

/** A runner, and how it reaches the tool of fixtures/contract-tool.ts. */
export interface RunnerUnderTest {
  runner: Runner;
  implementation: Implementation;
  /** What each job needs besides. */
  changes?: Partial<Job>;
}

type Thrown = [operation: string, message: string];

const THROWN: Thrown[] = [
  ["throwString", "just a string"],
  ["throwEmpty", "threw an empty string"],
  ["throwUndefined", "threw undefined"],
  ["throwNull", "threw null"],
  ["throwSymbol", "threw Symbol(s)"],
  ["throwError", "a plain error"],
  ["throwHostile", "threw an object without a message"],
  ["throwRevoked", "threw an object without a message"],
  ["throwUnspeakable", "threw an object without a message"],
  ["throwFrozen", "frozen"],
  ["rejectUndefined", "threw undefined"],
  ["rejectError", "rejected"],
  ["hostileThenable", "no then"],
  ["noSuchOperation", 'contract has no operation "noSuchOperation"'],
  ["constructor", 'contract has no operation "constructor"'],
];

const NOT_JSON: Thrown[] = [
  ["cycle", "circular"],
  ["bigint", "BigInt"],
  ["aFunction", "a function"],
  ["nestedFunction", "the value.list[0].f is a function"],
  ["notANumber", "the value.ratio is NaN"],
  ["forgottenAwait", "the value.body is a promise"],
  ["hostileResult", "boom"],
];

/** Far less than a tool sleeps here, and enough for a machine that is busy. */
const SOON_MS = 20_000;

/** What holds for every runner, whatever a tool does. */
export function runnerContract(name: string, make: () => RunnerUnderTest): void {
  describe(`${name} runner: contract`, () => {
    let tested: RunnerUnderTest;
    const folder = mkdtempSync(join(tmpdir(), "sallyport-runner-"));

    beforeAll(() => {
      tested = make();
    });
    afterAll(async () => {
      await tested.runner.close();
      rmSync(folder, { recursive: true });
    });

    const run = async (operation: string, changes: Partial<Job> = {}): Promise<RunResult> =>
      tested.runner.run(createJob(tested.implementation, { operation, ...tested.changes, ...changes }));
    const output = async (operation: string, changes: Partial<Job> = {}): Promise<JsonValue> => {
      const result = await run(operation, changes);
      if (!result.ok) throw new Error(JSON.stringify(result.fault));
      return result.output;
    };
    const fault = async (operation: string, changes: Partial<Job> = {}) => {
      const result = await run(operation, changes);
      if (result.ok) throw new Error(`succeeded with ${JSON.stringify(result.output)}`);
      return result.fault;
    };

    // A tool that is to end has a moment, not a promise: where a busy machine gave it no turn, it is told once more.
    const noteOf = async (file: string, tell: () => Promise<void>): Promise<string> => {
      for (let turn = 0; turn < 20 && !existsSync(file); turn += 1) await tell();
      return readFileSync(file, "utf8");
    };

    it("says which isolation is in force", () => {
      expect(tested.runner.isolation).toEqual({ level: "LEVEL_0", runner: name });
    });

    it("gives what a function returns, at once or later, with its usage", async () => {
      expect(await output("add")).toEqual({ sum: 3 });
      expect(await output("addLater")).toEqual({ sum: 3 });
      expect(await output("nothing")).toBeNull();
      expect(await output("dateAndHole")).toEqual({ at: "1970-01-01T00:00:00.000Z" });
      const { usage } = await run("add");
      expect(usage.cpuMs).toBeGreaterThanOrEqual(0);
      expect(usage.memoryPeakBytes).toBeGreaterThanOrEqual(0);
    });

    it.each(THROWN)("[R1-4.4] [FR-EXE-04b] %s is a fault", async (operation, message) => {
      expect(await fault(operation)).toMatchObject({ kind: "threw", message });
    });

    it("[FR-EXE-04b] what was thrown is bounded and free of terminal controls", async () => {
      const huge = await fault("throwHuge");
      if (huge.kind !== "threw") throw new Error(huge.kind);
      expect(huge.message).toHaveLength(2_000);
      expect(huge.stack).toHaveLength(8_000);
      expect(await fault("throwControls")).toMatchObject({ message: "red bell\ufffd" });
    });

    it("an error that says so itself is about the input", async () => {
      expect(await fault("throwInvalidInput")).toMatchObject({ kind: "threw", invalidInput: true });
      expect(await fault("inheritInvalidInput")).not.toHaveProperty("invalidInput");
      expect(await fault("throwError")).not.toHaveProperty("invalidInput");
    });

    it("[NFR-ERR-01] [NFR-ERR-02] a declared failure keeps the details it names, cleaned and bounded", async () => {
      const details = { file: "a.txt", reason: "x".repeat(999).concat("…") };
      expect(await fault("throwDeclared")).toMatchObject({ kind: "threw", code: "E3952", details });
      expect(await fault("throwHostileDetails")).toMatchObject({ code: "E3951", message: "hostile" });
      expect(await fault("throwHostileDetails")).not.toHaveProperty("details");
    });

    it.each(NOT_JSON)("%s is no result", async (operation, message) => {
      const found = await fault(operation);
      expect(found).toMatchObject({ kind: "not_json", message: expect.stringContaining(message) });
    });

    it("[MCX-7] [FR-OUT-04] the size of a result is counted in bytes; a longer text is cut, other results are refused", async () => {
      const limited = (bytes: number) => run("huge", { input: { bytes }, maxOutputBytes: 1_002 });
      expect(await limited(1_000)).toMatchObject({ ok: true });
      const cut = await limited(1_002);
      expect(cut).toMatchObject({ ok: true, output: expect.stringMatching(/^é+\n\[\d+ bytes left out\]$/) });
      expect(Buffer.byteLength(JSON.stringify("output" in cut && cut.output))).toBeLessThanOrEqual(1_002);
      const data = await run("hugeData", { input: { bytes: 1_000 }, maxOutputBytes: 1_002 });
      expect(data).toMatchObject({ fault: { kind: "output_too_large", bytes: 1_004 } });
    });

    it("[FR-EXE-03] [R1-5.2] a tool that waits past its deadline times out", async () => {
      await output("add");
      const startedAt = performance.now();
      expect(await fault("sleep", { input: { ms: 60_000 }, timeoutMs: 300 })).toEqual({ kind: "timeout" });
      const took = performance.now() - startedAt;
      expect(took).toBeGreaterThan(295);
      expect(took).toBeLessThan(SOON_MS);
    });

    it("[FR-EXE-03] the tool's signal is aborted at the deadline", async () => {
      const file = join(folder, "deadline");
      await output("add");
      const note = await noteOf(file, async () => {
        expect(await fault("noteAbort", { input: { file }, timeoutMs: 800 })).toEqual({ kind: "timeout" });
      });
      expect(note).toBe("TimeoutError");
      const honoured = await fault("sleepUnlessAborted", { input: { ms: 60_000 }, timeoutMs: 800 });
      expect(honoured).toEqual({ kind: "timeout" });
    });

    it("a call cancelled beforehand does not run", async () => {
      const host = createTestHost();
      const found = await fault("state", { host, signal: AbortSignal.abort() });
      expect(found).toEqual({ kind: "cancelled" });
      expect(host.seen).toEqual([]);
    });

    it.each(["sleep", "sleepUnlessAborted"])("a call cancelled during %s ends soon", async (operation) => {
      await output("add");
      const startedAt = performance.now();
      const signal = AbortSignal.timeout(200);
      expect(await fault(operation, { input: { ms: 60_000 }, signal })).toEqual({ kind: "cancelled" });
      expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
    });

    it("the tool's signal is aborted by a cancel", async () => {
      const file = join(folder, "cancel");
      await output("add");
      const note = await noteOf(file, async () => {
        const signal = AbortSignal.timeout(200);
        expect(await fault("noteAbort", { input: { file }, signal })).toEqual({ kind: "cancelled" });
      });
      expect(note).toBe("AbortError");
    });

    it("[R1-5.2] state, capabilities and progress go through the host", async () => {
      const host = createTestHost();
      expect(await output("state", { host })).toEqual({
        keys: ["a/1", "a/2"],
        one: { n: 1 },
        two: null,
        missing: true,
      });
      expect(host.seen.at(0)).toEqual({ percent: 50, phase: "half way" });
      expect(host.seen.at(-1)).toEqual({ percent: 100 });
    });

    it("[FR-REG-04] output goes through the host, which says whether there was room", async () => {
      expect(await output("show")).toEqual([true, false]);
    });

    it("[R1-5.2] files go through the host, byte for byte", async () => {
      const host = createTestHost();
      const file = { type: "file", modifiedAt: 0 };
      expect(await output("files", { host })).toEqual({
        intact: true,
        missing: true,
        words: "ü\n",
        list: [
          { ...file, name: "all", bytes: 256, mode: 0o600 },
          { name: "folder", type: "folder", bytes: 0, mode: 0o755, modifiedAt: 0 },
          { name: "link", type: "symlink", bytes: 4, mode: 0o777, modifiedAt: 0 },
          { ...file, name: "words", bytes: 3, mode: 0o755 },
        ],
      });
      expect(await host.files.read("words")).toEqual(Buffer.from("ü\n"));
      expect(await output("manyFiles", { input: { count: 100 } })).toBe(100);
    });

    it("what goes wrong with a file is an exception that the tool may catch", async () => {
      const message = "ENOENT: no such file, 'nowhere'";
      expect(await output("missingFile")).toEqual({ code: "ENOENT", message });
      const wrong = ["TypeError", "RangeError", "TypeError", "RangeError", "RangeError"];
      expect(await output("misuseFiles")).toEqual(wrong);
    });

    it("[MCX-7] a file of 16 MiB passes; in a message no larger one does", async () => {
      const bytes = 16 * 1_048_576;
      expect(await output("largeFile", { input: { bytes } })).toBe(bytes);
      const larger = await run("largeFile", { input: { bytes: bytes + 1 } });
      if (name === "inline") expect(larger).toMatchObject({ ok: true });
      else
        expect(larger).toMatchObject({
          fault: { kind: "threw", message: expect.stringMatching(/too large/) },
        });
    });

    it("many questions at once are all answered", async () => {
      expect(await output("manyQuestions", { input: { count: 1_000 } })).toBe(1_000);
    });

    it("a host's refusal is an exception that the tool may catch", async () => {
      const message = "the tool does not hold forbidden";
      expect(await output("catchHostError")).toEqual({ name: "RangeError", message });
      expect(await fault("leakHostError")).toMatchObject({ kind: "threw", message });
      expect(await output("misuseHost")).toEqual(["TypeError", "TypeError"]);
    });

    it("the context tells the call's facts", async () => {
      const { facts } = createJob(tested.implementation);
      const kinds = ["function", "function", "function", "function"];
      expect(await output("facts")).toEqual({ facts, aborted: false, kinds });
      expect(await output("sameSignal")).toBe(true);
    });

    it("input and result are copies", async () => {
      const input = { list: [1] };
      expect(await output("mutateInput", { input })).toBe(2);
      expect(input).toEqual({ list: [1] });
      const result = await output("mutateLater");
      await sleep(20);
      expect(result).toEqual({ n: 1 });
    });

    it("a context is dead once its call has ended", async () => {
      const host = createTestHost();
      await output("keepContext", { host });
      expect(await output("useKeptContext")).toEqual(["rejected", "rejected"]);
      expect(host.seen).toEqual([]);
    });

    it("refuses an implementation that is not its own", async () => {
      const other: Implementation =
        tested.implementation.kind === "inline"
          ? { kind: "thread", moduleUrl: "file:///nowhere.ts" }
          : { kind: "inline", operations: {} };
      expect(await fault("add", { implementation: other })).toMatchObject({ kind: "died" });
    });

    it("closing cancels what runs, and later calls", async () => {
      const { runner, implementation, changes } = make();
      const job = createJob(implementation, { operation: "sleep", input: { ms: 60_000 }, ...changes });
      const running = runner.run(job);
      await sleep(20);
      await runner.close();
      expect(await running).toMatchObject({ fault: { kind: "cancelled" } });
      expect(await runner.run(job)).toMatchObject({ fault: { kind: "cancelled" } });
      await runner.close();
    });
  });
}
