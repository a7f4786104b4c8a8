import { writeFileSync } from "node:fs";
import { defineCommand, defineTool } from "@sallyport/engine/tool";

const ANY = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
const common = { version: "1.0.0", description: "Does not stop.", limits: { timeoutMs: 600_000 } };

/** Never gives its thread back. */
export const spin = defineTool({
  ...common,
  id: "spin",
  sideEffects: "none",
  input: ANY,
  output: ANY,
  run: (input: { begun: string }) => {
    writeFileSync(input.begun, "");
    for (;;);
  },
});

/** A process that wants to outlive everybody. */
export const cling = defineCommand({
  ...common,
  id: "cling",
  sideEffects: "none",
  input: ANY,
  command: ["sh", "-c", "trap '' TERM INT HUP; echo begun; setsid sleep 611 & sleep 611; sleep 611"],
});
