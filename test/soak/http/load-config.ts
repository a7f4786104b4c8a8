import { fileURLToPath } from "node:url";

/** Everybody's; agents differ. */
export const TENANT = "load";

const module = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The configuration of a server under load. Threads are few, because each costs much to start and there are many lives. */
export function loadConfig({ durability }: { durability: "power" | "process" }): string {
  return `
durability: ${durability}
tools:
  - { module: ${module("./quick-tools.ts")}, runner: inline }
  - ${module("./slow-tools.ts")}
grants:
  - id: everything
    tools: [look, count, pay, slow]
    capabilities: [state.read, state.write]
limits: { threads: 6 }
log: { level: warn }
`;
}
