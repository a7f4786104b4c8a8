import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { type Failure, type FileEffects, isFailure, type JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { snapshot } from "../workspace/testing/snapshot.ts";
import { failureOf, inHouse, resultOf } from "./fixtures/built-house.ts";
import { lp1 } from "./fixtures/lp1.ts";

function effectsIn(preview: FileEffects | Failure | undefined): FileEffects | undefined {
  if (preview && isFailure(preview)) throw new Error(preview.message);
  return preview;
}

describe("what a loop asks before a call", () => {
  it("is offered under the tool's own name, schema and conduct [FR-REG-03]", () =>
    inHouse({}, async ({ tools }) => {
      const offered = Object.values(tools).map(({ loop, tool }) => {
        expect(loop.inputSchema).toEqual(tool.manifest.operations.run?.inputSchema);
        return [loop.name, loop.sideEffects, tool.manifest.risk, tool.manifest.requiresApproval];
      });
      expect(offered).toEqual([
        ["read_file", false, "low", false],
        ["write_file", true, "medium", false],
        ["apply_patch", true, "medium", false],
        ["list_directory", false, "low", false],
        ["run_command", true, "high", true],
      ]);
    }));

  it.each<[string, JsonValue, string | undefined]>([
    ["read_file", { path: "a.txt" }, undefined],
    ["read_file", { path: "not there" }, undefined],
    ["read_file", { path: "a.txt", start_line: 2, end_line: 1 }, "E3901"],
    ["read_file", { path: "../a.txt" }, "E3955"],
    ["read_file", { path: 7 }, "E3901"],
    ["read_file", "no object", "E3901"],
    ["write_file", { path: "new", content: "" }, undefined],
    ["write_file", { path: "out/new", content: "" }, "E3955"],
    ["write_file", { path: "new", content: "\ud800" }, "E3901"],
    ["list_directory", { path: "." }, undefined],
    ["list_directory", { path: ".ssh" }, "E3956"],
    ["list_directory", { path: ".", max_depth: 2 }, "E3901"],
    ["apply_patch", { patch: lp1("F a.txt") }, undefined],
    ["apply_patch", { patch: lp1("F a.txt", "F ../b") }, "E3955"],
    ["apply_patch", { patch: "LP1\n" }, "E3901"],
    ["run_command", { command: "true" }, undefined],
    ["run_command", { command: " \n" }, "E3901"],
  ])("is told of %s %j: %s [FR-VAL-02] [FR-VAL-07]", (tool, input, code) =>
    inHouse({ files: { "a.txt": "a\n" } }, async ({ tools, root }) => {
      symlinkSync("/tmp", join(root, "out"));
      expect((await tools[tool]?.loop.preflight?.(input, "talk"))?.code).toBe(code);
    }),
  );

  it.each<[string, string, string]>([
    ["/etc/passwd", "E3955", "Use a path relative to the working folder."],
    ["out/x", "E3955", "Use a path inside one of the allowed folders."],
    [".ssh/id", "E3956", "Use another file: files of this pattern may not be touched."],
    ["a\nb", "E3901", "Leave out control and text-direction characters."],
    ["a.txt/x", "E3907", "Check the names on the way."],
  ])(
    "is told once what to do about the path %j, also when it is called all the same (%s)",
    (path, code, advice) =>
      inHouse({ files: { "a.txt": "a\n" } }, async ({ tools, root, call }) => {
        symlinkSync("/tmp", join(root, "out"));
        const before = await tools.read_file?.loop.preflight?.({ path }, "talk");
        expect(before).toMatchObject({ code, advice });
        expect(before?.message).not.toContain(advice);
        const called = failureOf(await call("read_file", { path }));
        expect(called.code).toBe(code);
        expect(`${called.message} ${called.advice}`.split(advice)).toHaveLength(2);
      }),
  );

  it.each<[string, JsonValue, string]>([
    ["read_file", { path: "a" }, "Read a"],
    ["read_file", { path: "a", start_line: 2, end_line: 9 }, "Read a [lines 2-9]"],
    ["read_file", { path: "a", start_line: 2 }, "Read a [lines 2-end]"],
    ["list_directory", { path: "d" }, "List d"],
    ["list_directory", { path: "d", recursive: true, max_depth: 3 }, "List d [depth 3]"],
    ["write_file", { path: "ü", content: "ü" }, "Write new file: ü (2 bytes)"],
    ["apply_patch", { patch: lp1("F a", "F b", "F a") }, "Apply patch to 2 file(s): a, b"],
    ["apply_patch", { patch: lp1() }, "Apply patch (no files)"],
  ])("describes %s %j in one line [FR-APR-01] [FR-APR-06]", (tool, input, line) =>
    inHouse({}, async ({ tools }) => {
      expect(tools[tool]?.tool.summaries.run?.(input)).toBe(line);
    }),
  );

  it("gets the text of a command's result from the tool itself [FR-TOOL-CMD-01]", () =>
    inHouse({}, async ({ tools }) => {
      const result = { exitCode: 0, stdout: "out\n", stderr: "warned" };
      expect(tools.run_command?.loop.textOf?.(result)).toBe("out\n\n\n[stderr]\nwarned");
      expect(tools.run_command?.resultText).toBe(tools.run_command?.loop.textOf);
      expect(tools.read_file?.loop.textOf).toBeUndefined();
    }));

  it("does not describe a patch that cannot be read [FR-APR-06]", () =>
    inHouse({}, async ({ tools }) => {
      expect(() => tools.apply_patch?.tool.summaries.run?.({ patch: "nonsense" })).toThrow(/Bad args/);
    }));

  it("sees the difference a patch would make, and nothing is changed or read for it [FR-APR-01]", () =>
    inHouse({ files: { "a.txt": "one\ntwo\n", "b.txt": "b\n" } }, async ({ call, tools, root }) => {
      const input = { patch: lp1("F a.txt", "E", "two", ".", "F n/new", "T", "x", ".") };
      const preview = () => tools.apply_patch?.loop.preview?.(input, "talk");
      resultOf(await call("read_file", { path: "a.txt" }));
      const before = await snapshot(root, { times: true });
      const shown = effectsIn(await preview());
      expect(await snapshot(root, { times: true })).toEqual(before);
      expect(shown?.files.map(({ path, change }) => `${change} ${path}`)).toEqual([
        "edited a.txt",
        "added n",
        "added n/new",
      ]);
      expect(shown?.files[0]?.diff).toBe("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,1 @@\n one\n-two\n");
      expect((await call("apply_patch", input)).effects).toEqual(shown);
    }));

  it("is shown no more of a large difference than there is room for", () =>
    inHouse({}, async ({ tools }) => {
      const content = "a line of text\n".repeat(20_000);
      const shown = effectsIn(await tools.write_file?.loop.preview?.({ path: "n", content }, "talk"));
      expect(shown?.diffsCut).toBe(true);
      expect(Buffer.byteLength(shown?.files[0]?.diff ?? "")).toBeLessThanOrEqual(65_536);
      expect(shown?.files[0]?.note).toBe("the diff is cut");
    }));
});
