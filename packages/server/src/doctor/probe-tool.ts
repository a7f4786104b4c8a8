import { defineTool } from "@sallyport/engine/tool";

const TEXT = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { text: { type: "string", description: "Comes back as it is" } },
  required: ["text"],
  additionalProperties: false,
};

/** Gives back what it gets; shows that a thread can be started and answers. */
export const probe = defineTool({
  id: "sallyport.probe",
  version: "1.0.0",
  name: "Probe",
  description: "Gives back what it gets.",
  sideEffects: "none",
  operations: {
    echo: { description: "Echo", input: TEXT, output: TEXT, run: (input: { text: string }) => input },
  },
});
