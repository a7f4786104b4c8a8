import type { Step } from "./run-steps.ts";

/** What holds the house in shape without running the product: types, style, arrows, generated documents. */
export const STATIC_CHECKS: readonly Step[] = [
  { name: "types", command: "tsc", args: ["-p", "tsconfig.json"] },
  { name: "style", command: "biome", args: ["check", "--error-on-warnings", "."] },
  {
    name: "arrows",
    command: "depcruise",
    args: ["--config", ".dependency-cruiser.mjs", "packages", "examples"],
  },
  { name: "docs drift", command: "node", args: ["scripts/generate-docs.ts", "--check"] },
];
