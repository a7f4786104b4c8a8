import type { Reporter, TestCase, TestModule } from "vitest/node";

const MOST_FILES = 20;

interface Span {
  from: number;
  to: number;
  files: number;
}

/**
 * Prints, at the end of a run: seconds of each project, the slowest files, why tests were skipped, and the seed.
 */
export default class TimeReporter implements Reporter {
  readonly #spans = new Map<string, Span>();

  onTestModuleQueued({ project }: TestModule): void {
    const now = performance.now();
    this.#spans.set(project.name, this.#spans.get(project.name) ?? { from: now, to: now, files: 0 });
  }

  onTestModuleEnd({ project }: TestModule): void {
    const span = this.#spans.get(project.name);
    if (!span) return;
    span.to = performance.now();
    span.files += 1;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    console.log("\nSeconds of each project");
    for (const [name, { from, to, files }] of this.#spans)
      console.log(`${inSeconds(to - from)}  ${name} (${files} files)`);
    const timed = modules.map((module) => ({ path: module.relativeModuleId, ms: durationOf(module) }));
    console.log(`\nThe ${MOST_FILES} slowest files`);
    for (const { path, ms } of timed.toSorted((a, b) => b.ms - a.ms).slice(0, MOST_FILES))
      console.log(`${inSeconds(ms)}  ${path}`);
    const skipped = modules.flatMap((module) => [...module.children.allTests("skipped")]);
    if (skipped.length > 0) console.log("\nSkipped");
    for (const test of skipped)
      console.log(`  ${test.module.relativeModuleId}: ${test.fullName}${reasonOf(test)}`);
    console.log(`\nTo repeat what was random: SALLYPORT_SEED=${process.env.SALLYPORT_SEED}`);
  }
}

/** Of the tests and of loading what they import. */
function durationOf(module: TestModule): number {
  const { duration, collectDuration, setupDuration } = module.diagnostic();
  return duration + collectDuration + setupDuration;
}

function reasonOf(test: TestCase): string {
  const result = test.result();
  return result.state === "skipped" && result.note ? ` (${result.note})` : "";
}

function inSeconds(ms: number): string {
  return (ms / 1_000).toFixed(1).padStart(7);
}
