import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STATIC_CHECKS } from "./check-steps.ts";
import { runStep, runSteps, runTogether, type Step } from "./run-steps.ts";

/*
 * Everything, with the count in the last line. A static check counts as one test each. Nothing has to be installed or
 * started beforehand: what the tests need, they bring; system programs are installed in CI and named elsewhere.
 */

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numFailedTestSuites: number;
}

function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch {
    return undefined;
  }
}

const folder = mkdtempSync(join(tmpdir(), "sallyport-test-"));
const reportFile = join(folder, "report.json");
const host: Step = { name: "host", command: "node", args: ["scripts/prepare-host.ts"] };
const checks = [...(await runSteps([host])), ...(await runTogether(STATIC_CHECKS))];
const tests = await runStep({
  name: "tests",
  command: "vitest",
  args: [
    "run",
    ...["default", "./scripts/time-reporter.ts", "json"].flatMap((name) => ["--reporter", name]),
    "--outputFile",
    reportFile,
  ],
});
const report = readReport(reportFile);
rmSync(folder, { recursive: true, force: true });

const failedChecks = checks.filter(({ ok }) => !ok).length;
const failedTests = report?.numFailedTests ?? 0;
// A suite that could not even be loaded fails without a failed test in it.
const unaccounted = !tests.ok && failedTests === 0 ? 1 : 0;
const passed = checks.length - failedChecks + (report?.numPassedTests ?? 0);
const failed = failedChecks + failedTests + unaccounted;
const skipped = report?.numPendingTests ?? 0;
console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = failed > 0 || !report ? 1 : 0;
