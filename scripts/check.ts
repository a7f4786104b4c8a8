import { STATIC_CHECKS } from "./check-steps.ts";
import { runSteps } from "./run-steps.ts";

/** The quick check before every commit. */
const results = await runSteps([
  ...STATIC_CHECKS,
  { name: "unit tests", command: "vitest", args: ["run", "--project", "unit", "--reporter", "dot"] },
]);
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
