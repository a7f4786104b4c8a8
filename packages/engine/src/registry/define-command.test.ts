import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createSchemaCompiler } from "../validate/index.ts";
import { defineCommand } from "./define-tool.ts";
import { decodeManifest } from "./manifest.ts";

const about = { id: "words", version: "1.0.0", description: "Counts the words of a file." };
const input = z.object({ path: z.string(), flags: z.array(z.string()).optional() });

describe("defining a tool of commands", () => {
  it("gives it a manifest that any reader of manifests accepts, and a program for each operation", () => {
    const tool = defineCommand({ ...about, input, command: ["wc", "{flags...}", "{path}"] });
    expect(tool.programs).toEqual({
      run: {
        command: ["wc", "{flags...}", "{path}"],
        stdin: "none",
        stdout: "text",
        success: [0],
        env: {},
      },
    });
    expect(decodeManifest(tool.manifest, createSchemaCompiler())).toMatchObject({ ok: true });
    expect(tool.manifest).toMatchObject({ kind: "job_worker", name: "words" });
    expect(tool.manifest.operations.run?.outputSchema).toMatchObject({
      required: ["exitCode", "stdout", "stderr"],
    });
  });

  it("calls its effects state when it reaches no host, and external when it does", () => {
    const command = ["wc", "{path}"];
    expect(defineCommand({ ...about, input, command }).manifest.sideEffects).toBe("state");
    const permissions = { filesystem: [], network: [{ host: "api.example" }], credentials: [] };
    expect(defineCommand({ ...about, input, command, permissions }).manifest.sideEffects).toBe("external");
    expect(defineCommand({ ...about, input, command, sideEffects: "none" }).manifest.sideEffects).toBe(
      "none",
    );
  });

  it("refuses a placeholder that is no argument, and an empty command", () => {
    expect(() => defineCommand({ ...about, input, command: ["wc", "{file}"] })).toThrow(/names \{file\}/);
    expect(() => defineCommand({ ...about, input, command: ["wc", "{toString}"] })).toThrow(/E3008|names/);
    expect(() => defineCommand({ ...about, input, command: [] })).toThrow(/empty/);
  });

  it("takes several operations, each with its own command", () => {
    const operation = { description: "Counts.", input };
    const tool = defineCommand({
      ...about,
      operations: {
        lines: { ...operation, command: ["wc", "-l", "{path}"] },
        json: { ...operation, command: ["count", "{path}"], stdin: "json", stdout: "json", success: [0, 3] },
      },
    });
    expect(Object.keys(tool.manifest.operations)).toEqual(["lines", "json"]);
    expect(tool.programs.json).toMatchObject({ stdin: "json", stdout: "json", success: [0, 3] });
    expect(tool.manifest.operations.json?.outputSchema).toBeUndefined();
  });
});
