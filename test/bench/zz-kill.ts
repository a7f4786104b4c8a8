import { mkdtempSync, rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createSandbox } from "@sallyport/adapters/sandbox";
import { nodeRuntime } from "@sallyport/adapters/sandbox-runners";
import { BOUNDS } from "./sandbox-orders.ts";
const folder = mkdtempSync("/tmp/benchh/r-");
const sandbox = createSandbox({ runtimeFolder: folder, backends: ["bubblewrap"] });
const { node } = nodeRuntime();
const entry = new URL("../../packages/engine/src/execute/runners/script-entry.ts", import.meta.url).pathname;
const argvs: Record<string, string[]> = { sleep: ["/bin/sh", "-c", "echo 1; exec sleep 100"], js: [node.path, "/tmp/benchh/m/a.mjs"], ts: [node.path, "/tmp/benchh/m/a.ts"], entry: [node.path, "--import", "/tmp/benchh/m/a.mjs", entry] };
const t: Record<string, number[]> = {}; const rss: Record<string, number> = {};
for (let i = 0; i < 25; i++) for (const [which, argv] of Object.entries(argvs)) { const p = await sandbox.start({ ...BOUNDS, id: "x", argv, env: {}, mounts: [...node.mounts, { source: "/tmp/benchh/m", target: "/tmp/benchh/m", mode: "ro" as const }] }); await new Promise((r) => p.stdout.once("data", r)); await pause(which === "entry" ? 400 : 60); const a = performance.now(); p.kill(); const e = await p.ended; (t[which] ??= []).push(performance.now() - a); rss[which] = e.usage.memoryPeakBytes / 2 ** 20; }
for (const [n, v] of Object.entries(t)) { v.sort((a, b) => a - b); console.log(n.padEnd(6), "min", v[0]!.toFixed(2), "p25", v[6]!.toFixed(2), "p50", v[12]!.toFixed(2), "MiB", rss[n]!.toFixed(0)); }
await sandbox.close(); rmSync(folder, { recursive: true });
