import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

export interface Step {
  name: string;
  command: string;
  args: string[];
  env?: Record<string, string>;
}

export interface StepResult {
  name: string;
  ok: boolean;
  seconds: number;
}

/** Runs one step with its output passed through; a step that cannot be started counts as failed. */
export function runStep(step: Step): Promise<StepResult> {
  console.log(titleOf(step));
  return run(step, "inherit");
}

/** Runs steps one after the other, all of them, so that one report names everything that is wrong. */
export async function runSteps(steps: readonly Step[]): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (const step of steps) results.push(await runStep(step));
  report(results);
  return results;
}

/** Runs steps at the same time; the output of each is printed when it has ended. */
export async function runTogether(steps: readonly Step[]): Promise<StepResult[]> {
  const results = await Promise.all(steps.map((step) => run(step, "pipe")));
  report(results);
  return results;
}

function run(step: Step, stdio: "inherit" | "pipe"): Promise<StepResult> {
  const started = performance.now();
  const child = spawn(step.command, step.args, { stdio, env: { ...process.env, ...step.env } });
  const said = [child.stdout, child.stderr].map((stream) => (stream ? text(stream) : ""));
  return new Promise((resolve) => {
    const end = async (ok: boolean) => {
      if (stdio === "pipe") console.log(titleOf(step), `\n${(await Promise.all(said)).join("")}`.trimEnd());
      resolve({ name: step.name, ok, seconds: (performance.now() - started) / 1_000 });
    };
    child.once("error", (error) => {
      console.error(error.message);
      void end(false);
    });
    child.once("exit", (code) => void end(code === 0));
  });
}

function titleOf({ name, command, args }: Step): string {
  return `\n── ${name}: ${command} ${args.join(" ")}`;
}

function report(results: readonly StepResult[]): void {
  console.log("");
  for (const { name, ok, seconds } of results)
    console.log(`${ok ? "✓" : "✗"} ${name} (${seconds.toFixed(1)} s)`);
}
