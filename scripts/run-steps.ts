import { spawn } from "node:child_process";

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
export function runStep({ name, command, args, env }: Step): Promise<StepResult> {
  const started = performance.now();
  console.log(`\n── ${name}: ${command} ${args.join(" ")}`);
  return new Promise((resolve) => {
    const end = (ok: boolean) => resolve({ name, ok, seconds: (performance.now() - started) / 1_000 });
    const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, ...env } });
    child.once("error", (error) => {
      console.error(error.message);
      end(false);
    });
    child.once("exit", (code) => end(code === 0));
  });
}

/** Runs steps one after the other, all of them, so that one report names everything that is wrong. */
export async function runSteps(steps: readonly Step[]): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (const step of steps) results.push(await runStep(step));
  console.log("");
  for (const { name, ok, seconds } of results)
    console.log(`${ok ? "✓" : "✗"} ${name} (${seconds.toFixed(1)} s)`);
  return results;
}
