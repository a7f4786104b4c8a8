import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Plan, Report } from "./protocol.ts";

const VICTIM = fileURLToPath(new URL("./victim.ts", import.meta.url));
/** A victim that is not even ready by then is killed all the same. */
const LONGEST_START_MS = 90_000;

/** What a victim said before it was killed. */
export interface Life {
  reports: Report[];
  signal: NodeJS.Signals | null;
  stderr: string;
}

/** Lets a victim live for so many milliseconds of work, and kills it wherever it is. */
export function live(plan: Plan, afterMs: number): Promise<Life> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [VICTIM, JSON.stringify(plan)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const kill = () => void child.kill("SIGKILL");
    const life: Life = { reports: [], signal: null, stderr: "" };
    let timer = setTimeout(kill, LONGEST_START_MS);
    createInterface({ input: child.stdout }).on("line", (line) => {
      const report = readReport(line);
      if (report) life.reports.push(report);
      if (report?.report !== "ready") return;
      clearTimeout(timer);
      timer = setTimeout(kill, afterMs);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      life.stderr += chunk.toString();
    });
    child.once("error", reject);
    child.once("close", (_, signal) => {
      clearTimeout(timer);
      resolve({ ...life, signal });
    });
  });
}

/** The last line may be cut off by the death: then it was not said. */
function readReport(line: string): Report | undefined {
  try {
    return JSON.parse(line) as Report;
  } catch {
    return undefined;
  }
}
