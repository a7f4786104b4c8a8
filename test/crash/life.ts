import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Plan, Report } from "./protocol.ts";

const VICTIM = fileURLToPath(new URL("./victim.ts", import.meta.url));
/** A victim that has not died by then has missed its point; it is killed, which is a death like any other. */
const LONGEST_LIFE_MS = 20_000;
/** One that is to live out its days is killed only when it hangs. */
const OF_AGE_MS = 300_000;

export interface Life {
  reports: Report[];
  signal: NodeJS.Signals | null;
  stderr: string;
}

/** Lets one victim live and die, and gives back everything it said before. */
export function live(plan: Plan): Promise<Life> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", VICTIM, JSON.stringify(plan)],
      {
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    const reports: Report[] = [];
    let stderr = "";
    const kill = () => void child.kill("SIGKILL");
    let timer = setTimeout(kill, plan.death.kind === "of age" ? OF_AGE_MS : LONGEST_LIFE_MS);
    createInterface({ input: child.stdout }).on("line", (line) => {
      const report = JSON.parse(line) as Report;
      reports.push(report);
      if (report.report === "ready" && plan.death.kind === "from outside") {
        clearTimeout(timer);
        timer = setTimeout(kill, plan.death.afterMs);
      }
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once("error", reject);
    child.once("close", (_, signal) => {
      clearTimeout(timer);
      resolve({ reports, signal, stderr });
    });
  });
}
