import { runSteps } from "./run-steps.ts";

/** The long versions of what the test run does briefly: kills, leaks and load. */
const LONG = {
  SALLYPORT_KILLS: "3000",
  SALLYPORT_SOAK_CALLS: "1000000",
  SALLYPORT_FUZZ_RUNS: "5000",
  SALLYPORT_SANDBOX_RUNS: "10000",
  SALLYPORT_LOAD_SECONDS: "60",
};

const results = await runSteps([
  { name: "crash", command: "vitest", args: ["run", "--project", "crash"], env: LONG },
  { name: "memory", command: "node", args: ["--expose-gc", "test/bench/memory.ts"], env: LONG },
  { name: "sandboxes and server", command: "vitest", args: ["run", "--project", "soak"], env: LONG },
  { name: "properties", command: "vitest", args: ["run", "--project", "unit"], env: LONG },
]);
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
