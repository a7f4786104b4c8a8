import type { Step } from "./run-steps.ts";

/** The native compiler. By its path: dependency-cruiser needs TypeScript 6, whose program is called tsc too. */
export const NATIVE_TSC = "node_modules/typescript-native/bin/tsc";

/** What holds the house in shape without running the product: types, style, arrows, generated documents. */
export const STATIC_CHECKS: readonly Step[] = [
  { name: "types", command: "node", args: [NATIVE_TSC, "-p", "tsconfig.json"] },
  { name: "style", command: "biome", args: ["check", "--error-on-warnings", "."] },
  {
    name: "arrows",
    command: "depcruise",
    args: ["--config", ".dependency-cruiser.mjs", "packages", "workers", "examples"],
  },
  { name: "docs drift", command: "node", args: ["scripts/generate-docs.ts", "--check"] },
];
