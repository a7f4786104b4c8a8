import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { hostPart } from "../execute/runners/host-ops.ts";
import type { ToolContext } from "../ports/runner.ts";
import { createSchemaCompiler } from "../validate/index.ts";
import { defineTool, isDefinedTool, operation } from "./define-tool.ts";
import { ADD_INPUT } from "./fixtures/manifests.ts";
import { decodeManifest } from "./manifest.ts";
import { InvalidInput } from "./vendor-schema.ts";

const context: ToolContext = {
  callId: "c",
  executionId: "e",
  attempt: 1,
  tenant: "t",
  agent: "a",
  deadlineAt: 0,
  maxOutputBytes: 1_000_000,
  availableBytes: 65_536,
  signal: new AbortController().signal,
  state: { get: async () => undefined, put: async () => {}, delete: async () => {}, keys: async () => [] },
  files: hostPart("files", async () => undefined),
  progress: () => {},
  output: async () => true,
  use: async () => {},
};

const about = { id: "calc", version: "1.0.0", description: "Adds." };

describe("defining a tool [FR-REG-01]", () => {
  it("infers the types of a single operation and calls it run", async () => {
    const tool = defineTool({
      ...about,
      sideEffects: "none",
      input: z.object({ left: z.number(), right: z.number().default(1) }),
      output: z.object({ sum: z.number() }),
      summary: (input) => `Add ${input.left} and ${input.right}`,
      run(input, { attempt }) {
        expectTypeOf(input).toEqualTypeOf<{ left: number; right: number }>();
        expectTypeOf(attempt).toEqualTypeOf<number>();
        return { sum: input.left + input.right };
      },
    });
    expect(await tool.operations.run?.({ left: 2 }, context)).toEqual({ sum: 3 });
    expect(tool.summaries.run?.({ left: 2, right: 3 })).toBe("Add 2 and 3");
    expect(tool.manifest).toMatchObject({
      name: "calc",
      sideEffects: "none",
      risk: "low",
      operations: { run: { inputSchema: { required: ["left"] }, outputSchema: { required: ["sum"] } } },
    });
    expect(JSON.stringify(tool.manifest)).not.toContain("summary");
  });

  it("takes several operations, each with its own traits", async () => {
    const tool = defineTool({
      ...about,
      operations: {
        add: operation({
          description: "Adds.",
          sideEffects: "none",
          input: type({ left: "number" }),
          run: ({ left }) => left + 1,
        }),
        note: operation({
          description: "Notes.",
          timeoutMs: 5,
          input: toStandardJsonSchema(v.object({ text: v.string() })),
          run: ({ text }) => text.toUpperCase(),
        }),
        raw: operation({ description: "Raw.", input: ADD_INPUT, run: (input) => input.left }),
      },
    });
    expect(await tool.operations.add?.({ left: 1 }, context)).toBe(2);
    expect(await tool.operations.note?.({ text: "a" }, context)).toBe("A");
    expect(await tool.operations.raw?.({ left: 7 }, context)).toBe(7);
    expect(tool.manifest).toMatchObject({
      sideEffects: "external",
      risk: "medium",
      operations: { add: { sideEffects: "none" }, note: { timeoutMs: 5 } },
    });
    expect(tool.manifest.operations.raw?.inputSchema).toEqual(ADD_INPUT);
  });

  it("refuses a result of another type than the output schema, at compile time", () => {
    // @ts-expect-error the output schema says number
    const wrongResult = defineTool({ ...about, input: z.object({}), output: z.number(), run: () => "text" });
    // @ts-expect-error the input schema has no such property
    const wrongInput = defineTool({ ...about, input: z.object({ a: z.number() }), run: (input) => input.b });
    expect([wrongResult, wrongInput].every(isDefinedTool)).toBe(true);
  });

  it("assumes side effects unless the author says there are none", () => {
    expect(defineTool({ ...about, input: {}, run: () => 1 }).manifest).toMatchObject({
      sideEffects: "external",
      idempotent: false,
    });
  });

  it("makes manifests that can be registered", () => {
    const input = z.object({
      mail: z.email(),
      when: z.iso.datetime(),
      id: z.uuid(),
      link: z.url(),
      code: z.cuid2(),
      long: z.iso.duration(),
      format: z.string(),
    });
    const tool = defineTool({ ...about, input, output: input, run: (value) => value });
    expect(decodeManifest(tool.manifest, createSchemaCompiler())).toMatchObject({ ok: true });
    expect(tool.manifest.operations.run?.inputSchema.properties).toMatchObject({
      code: { type: "string" },
      format: { type: "string" },
      mail: { format: "email" },
    });
  });

  it("is frozen and recognised", () => {
    const tool = defineTool({ ...about, input: {}, run: () => 1 });
    expect(isDefinedTool(tool)).toBe(true);
    expect(
      Object.isFrozen(tool) &&
        Object.isFrozen(tool.operations) &&
        Object.isFrozen(tool.manifest.operations.run),
    ).toBe(true);
    expect([null, {}, { manifest: {} }, "calc"].some(isDefinedTool)).toBe(false);
  });
});

describe("the library's own validation", () => {
  it("runs once and gives the typed value [FR-REG-02] [NFR-MAIN-01] [NFR-MAIN-02]", async () => {
    let runs = 0;
    const counted = z.object({
      at: z.string().transform((text) => {
        runs += 1;
        return new Date(text);
      }),
    });
    const tool = defineTool({ ...about, input: counted, run: (input) => input.at.getUTCFullYear() });
    expect(await tool.operations.run?.({ at: "2026-01-31" }, context)).toBe(2026);
    expect(runs).toBe(1);
  });

  it("refuses as invalid input, which a runner can tell from a failed tool", async () => {
    const tool = defineTool({
      ...about,
      input: z.object({
        list: z.array(z.object({ "a/b": z.number().refine((n) => n % 2 === 0, "must be even") })),
      }),
      run: () => 1,
    });
    const thrown = await Promise.resolve(tool.operations.run?.({ list: [{ "a/b": 3 }] }, context)).catch(
      (error: unknown) => error,
    );
    expect(thrown).toBeInstanceOf(InvalidInput);
    expect(Object.hasOwn(Object(thrown), "invalidInput")).toBe(true);
    expect(thrown).toMatchObject({
      invalidInput: true,
      issues: [{ path: "/list/0/a~1b", reason: "must be even" }],
    });
  });

  it("needs a JSON Schema, and says how to get one", () => {
    const bare = v.object({ a: v.number() });
    // @ts-expect-error valibot's own schemas carry no JSON Schema
    expect(() => defineTool({ ...about, input: bare, run: () => 1 })).toThrow(
      expect.objectContaining({
        failure: expect.objectContaining({
          code: "E3015",
          advice: expect.stringContaining("toStandardJsonSchema"),
        }),
      }),
    );
  });
});
