import { setImmediate as turn } from "node:timers/promises";
import type { JsonSchema } from "@sallyport/protocol";
import type { Implementation } from "../ports/runner.ts";
import { defineTool } from "../registry/index.ts";
import type { RunnerKind } from "./probe-house.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const MIB = 1_048_576;
/** Far over the probe's limit, and still harmless where the limit is not kept. */
const HOARD_BYTES = 256 * MIB;

/** An object without any property. */
export const NOTHING: JsonSchema = {
  $schema: DIALECT,
  type: "object",
  properties: {},
  required: [],
  additionalProperties: false,
};

/** One whole number, called value. */
export const ONE_VALUE: JsonSchema = {
  $schema: DIALECT,
  type: "object",
  properties: { value: { type: "integer", description: "A whole number" } },
  required: ["value"],
  additionalProperties: false,
};

const NO_RESULT = { input: NOTHING, output: ONE_VALUE };

/**
 * A tool that does on purpose what tools do by accident. The same code runs inline and in a thread, so that both
 * runners are held to the same proofs; `spin` and `hoard` must only ever run in a thread.
 */
export const probe = defineTool({
  id: "sallyport.conformance",
  version: "1.0.0",
  name: "Conformance probe",
  description: "Misbehaves on request, to show that the passage holds.",
  sideEffects: "state",
  requiredCapabilities: ["state.read", "state.write", "state.delete"],
  limits: { timeoutMs: 30_000, memoryBytes: 64 * MIB, maxOutputBytes: 1_024 },
  operations: {
    answer: { ...NO_RESULT, description: "Answers as promised", run: () => ({ value: 1 }) },
    keep: {
      ...NO_RESULT,
      description: "Changes state and answers",
      run: async (_input: never, { state }) => {
        await state.put("kept", 1);
        await state.put("spare", 1);
        return { value: 1 };
      },
    },
    changeThenThrow: {
      ...NO_RESULT,
      description: "Changes, adds and deletes, then throws",
      run: async (_input: never, { state }) => {
        await state.put("kept", 2);
        await state.put("added", 2);
        await state.delete("spare");
        throw new Error("probe: thrown after three changes");
      },
    },
    changeThenLie: {
      ...NO_RESULT,
      description: "Changes state and answers something it did not promise",
      run: async (_input: never, { state }) => {
        await state.put("kept", 3);
        return { value: "three" };
      },
    },
    throwText: {
      ...NO_RESULT,
      description: "Throws a string",
      run: () => {
        throw "probe: a string";
      },
    },
    rejectNothing: {
      ...NO_RESULT,
      description: "Rejects with nothing",
      run: () => Promise.reject(undefined),
    },
    linger: { ...NO_RESULT, description: "Never answers", run: () => new Promise(() => undefined) },
    overflow: {
      ...NO_RESULT,
      description: "Answers more than it may",
      run: () => ({ value: 1, more: "x".repeat(4_096) }),
    },
    spin: {
      ...NO_RESULT,
      description: "Never gives its thread back",
      run: () => {
        for (;;);
      },
    },
    hoard: {
      ...NO_RESULT,
      description: "Takes more memory than it may and holds it",
      run: async () => {
        const held: number[][] = [];
        for (let taken = 0; taken < HOARD_BYTES; taken += MIB) {
          held.push(new Array<number>(MIB / 8).fill(taken + 0.5));
          await turn();
        }
        return await new Promise(() => held);
      },
    },
  },
});

const MODULE_URL = new URL(
  import.meta.url.endsWith(".ts") ? "./probe-tool.ts" : "./probe-tool.js",
  import.meta.url,
).href;

/** The probe's code as the given runner takes it. */
export function probeFor(kind: RunnerKind): Implementation {
  return kind === "inline" ? { kind, operations: probe.operations } : { kind, moduleUrl: MODULE_URL };
}
