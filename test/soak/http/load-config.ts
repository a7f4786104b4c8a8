import { fileURLToPath } from "node:url";

/** Everybody's; agents differ. */
export const TENANT = "load";

const module = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The configuration of a house under load. */
export function loadConfig({ durability }: { durability: "power" | "process" }): string {
  return `
durability: ${durability}
tools:
  - { module: ${module("./light-tools.ts")}, runner: inline }
  - ${module("./outside-tools.ts")}
grants:
  - id: everything
    tools: [look, count, pay, slow]
    capabilities: [state.read, state.write]
limits: { threads: 8 }
log: { level: warn }
`;
}
