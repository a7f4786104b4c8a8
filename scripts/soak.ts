import { runSteps, type Step } from "./run-steps.ts";

/** Everything random in its long version (test/counts.ts), and the parts that an ordinary run leaves out. */
const env = { SALLYPORT_SOAK: "1" };
const project = (name: string): Step => ({ name, command: "vitest", args: ["run", "--project", name], env });

const results = await runSteps([
  { name: "services", command: "node", args: ["scripts/services.ts"], env },
  project("crash"),
  { name: "memory", command: "node", args: ["--expose-gc", "test/bench/memory.ts"], env },
  ...["soak", "unit", "integration", "postgres16", "postgres17", "escape"].map(project),
]);
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
