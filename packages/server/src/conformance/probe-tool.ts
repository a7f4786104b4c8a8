import { setImmediate as turn } from "node:timers/promises";
import type { Implementation } from "@sallyport/engine/ports";
import { defineTool, type ToolContext } from "@sallyport/engine/tool";
import type { JsonSchema } from "@sallyport/protocol";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const MIB = 1_048_576;
/** Far over the probe's limit, and still harmless where the limit is not kept. */
const HOARD_BYTES = 256 * MIB;

export const PROBE_CAPABILITIES = ["state.read", "state.write", "state.delete"];

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
  ...NOTHING,
  properties: { value: { type: "integer", description: "A whole number" } },
  required: ["value"],
};

type Run = (input: never, context: ToolContext) => unknown;

function operation(description: string, run: Run) {
  return { description, input: NOTHING, output: ONE_VALUE, run };
}

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
  requiredCapabilities: PROBE_CAPABILITIES,
  limits: { timeoutMs: 30_000, memoryBytes: 64 * MIB, maxOutputBytes: 1_024 },
  operations: {
    answer: operation("Answers as promised", () => ({ value: 1 })),
    keep: operation("Changes state and answers", async (_input, { state }) => {
      await state.put("kept", 1);
      await state.put("spare", 1);
      return { value: 1 };
    }),
    changeThenThrow: operation("Changes, adds and deletes, then throws", async (_input, { state }) => {
      await state.put("kept", 2);
      await state.put("added", 2);
      await state.delete("spare");
      throw new Error("probe: thrown after three changes");
    }),
    changeThenLie: operation("Changes state and answers against its schema", async (_input, { state }) => {
      await state.put("kept", 3);
      return { value: "three" };
    }),
    throwText: operation("Throws a string", () => {
      throw "probe: a string";
    }),
    rejectNothing: operation("Rejects with nothing", () => Promise.reject(undefined)),
    linger: operation("Never answers", () => new Promise(() => undefined)),
    overflow: operation("Answers more than it may", () => ({ value: 1, more: "x".repeat(4_096) })),
    spin: operation("Never gives its thread back", () => {
      for (;;);
    }),
    hoard: operation("Takes more memory than it may and holds it", async () => {
      const held: number[][] = [];
      for (let taken = 0; taken < HOARD_BYTES; taken += MIB) {
        held.push(new Array<number>(MIB / 8).fill(taken + 0.5));
        await turn();
      }
      return await new Promise(() => held);
    }),
  },
});

/** How a tool's code is reached. */
export type RunnerKind = Exclude<Implementation["kind"], "process">;

/** The probe's code as the given runner takes it: the thread and the script load this module. */
export function probeFor(kind: RunnerKind): Implementation {
  return kind === "inline" ? { kind, operations: probe.operations } : { kind, moduleUrl: import.meta.url };
}

/** A tool with one operation, for a check that needs one of its own. */
export function smallTool(name: string, requiredCapabilities: string[], run: Run) {
  return defineTool({
    id: `sallyport.conformance.${name}`,
    version: "1.0.0",
    description: "Belongs to one check.",
    sideEffects: "state",
    requiredCapabilities,
    limits: { timeoutMs: 5_000 },
    input: NOTHING,
    output: ONE_VALUE,
    run,
  });
}

/** A tool that takes one value and counts how often it is run. */
export function countedTool(requiredCapabilities: string[] = []) {
  let count = 0;
  const tool = defineTool({
    id: "sallyport.conformance.counted",
    version: "1.0.0",
    description: "Counts its runs.",
    sideEffects: "none",
    requiredCapabilities,
    input: ONE_VALUE,
    output: ONE_VALUE,
    run: () => ({ value: ++count }),
  });
  return { tool, runs: () => count };
}
