/** The tool that `sallyport init` writes: small, harmless, and complete. */
export const EXAMPLE_TOOL = {
  id: "greet",
  module: "./tools/greet.mts",
  text: `import { defineTool } from "@sallyport/engine/tool";

const $schema = "https://json-schema.org/draft/2020-12/schema";

/** An example to begin with. Change it and send the server SIGHUP; change its version when you change its schemas. */
export const greet = defineTool({
  id: "greet",
  version: "1.0.0",
  name: "Greet",
  description: "Says hello to somebody.",
  sideEffects: "none",
  limits: { timeoutMs: 30_000 },
  input: {
    $schema,
    type: "object",
    description: "Whom to greet",
    properties: {
      name: { type: "string", description: "A name", minLength: 1, maxLength: 100, examples: ["Ada"] },
    },
    required: ["name"],
    additionalProperties: false,
  },
  output: {
    $schema,
    type: "object",
    description: "What was said",
    properties: { greeting: { type: "string", description: "The greeting" } },
    required: ["greeting"],
    additionalProperties: false,
  },
  run: ({ name }: { name: string }) => ({ greeting: \`Hello, \${name}!\` }),
});
`,
} as const;
