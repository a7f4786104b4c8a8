import { STATIC_CHECKS } from "./check-steps.ts";
import { runSteps, runTogether } from "./run-steps.ts";

/** The quick check before every commit. */
const checks = await runTogether(STATIC_CHECKS);
const tests = await runSteps([
  { name: "unit tests", command: "vitest", args: ["run", "--project", "unit", "--reporter", "dot"] },
]);
process.exitCode = [...checks, ...tests].every(({ ok }) => ok) ? 0 : 1;
