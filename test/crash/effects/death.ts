import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Mark, Scenario } from "./scenario.ts";

const VICTIM = fileURLToPath(new URL("./victim.ts", import.meta.url));

export interface Death {
  signal: NodeJS.Signals | null;
  marks: Mark[];
  stderr: string;
}

/** Lets a victim live until its n-th step, or to its end when it has fewer. `cache`: makes the next one start sooner. */
export function die(
  orders: { scenario: Scenario; recover?: { done: boolean }; dieAt: number },
  cache: string,
): Promise<Death> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", VICTIM, JSON.stringify(orders)],
      {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, NODE_COMPILE_CACHE: cache },
      },
    );
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once("error", reject);
    child.once("close", (_, signal) => {
      resolve({ signal, marks: stdout.split("\n").filter(Boolean) as Mark[], stderr });
    });
  });
}
