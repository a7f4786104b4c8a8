import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/* A worker of the SDK, as it is installed, against bare Node: from the start of the process to the first answer. */

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const STARTS_A_ROUND = 10;

const PROGRAMS = {
  bare: `import { createServer } from "node:http";
    const server = createServer((request, response) => {
      request.resume().on("end", () => response.end("{}"));
    });
    server.listen(0, "127.0.0.1", () => console.log(\`http://127.0.0.1:\${server.address().port}\`));`,
  worker: `import { defineWorker } from "@sallyport/worker";
    const { url } = await defineWorker({ tools: { any: { run: () => ({}) } } }).listen({ port: 0 });
    console.log(url);`,
};
type Program = keyof typeof PROGRAMS;

export interface ColdReport {
  bareMs: number;
  workerMs: number;
  ratio: number;
}

function layOut(folder: string): void {
  execFileSync(process.execPath, ["scripts/build.ts", "protocol", "worker"], { cwd: ROOT, stdio: "pipe" });
  const modules = join(folder, "node_modules/@sallyport");
  mkdirSync(modules, { recursive: true });
  for (const name of ["protocol", "worker"]) {
    cpSync(join(ROOT, "packages", name, "dist"), join(modules, name), { recursive: true });
  }
  for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(folder, `${name}.mjs`), text);
}

async function startOnce(folder: string, program: Program): Promise<number> {
  const meta = { trace_id: "t", tool_run_id: "r", domain_id: "d", deadline_ms: Date.now() + 60_000 };
  const body = JSON.stringify({ meta, input: {} });
  const startedAt = performance.now();
  const child = spawn(process.execPath, [join(folder, `${program}.mjs`)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {},
  });
  const [url] = await once(child.stdout, "data");
  const response = await fetch(`${String(url).trim()}/run`, { method: "POST", body });
  await response.text();
  const tookMs = performance.now() - startedAt;
  child.kill("SIGKILL");
  await once(child, "exit");
  return tookMs;
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

/** The two take turns, so that both see the same moments of the machine. */
export async function benchColdWorker(rounds: number): Promise<ColdReport> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-bench-worker-"));
  const taken: Record<Program, number[]> = { bare: [], worker: [] };
  try {
    layOut(folder);
    for (let index = 0; index < rounds * STARTS_A_ROUND; index++) {
      for (const program of ["bare", "worker"] as const)
        taken[program].push(await startOnce(folder, program));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const [bareMs, workerMs] = [middle(taken.bare), middle(taken.worker)];
  return { bareMs, workerMs, ratio: workerMs / bareMs };
}

export function printColdWorker({ bareMs, workerMs, ratio }: ColdReport): void {
  console.log("Cold start of a worker, from the process to its first answer");
  console.log(`  bare Node   ${bareMs.toFixed(1)} ms`);
  console.log(`  SDK         ${workerMs.toFixed(1)} ms, ${ratio.toFixed(2)} × (aim: at most 1.3)`);
}
