import { mkdtempSync, rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createSandbox } from "@sallyport/adapters/sandbox";
import { nodeRuntime } from "@sallyport/adapters/sandbox-runners";
import { createScriptRunner, type Sandbox } from "@sallyport/engine";
import { sumJob } from "./sandbox-job.ts";
const folder = mkdtempSync("/tmp/benchh/r-");
const ev: [string, number, string][] = [];
const inner = createSandbox({ runtimeFolder: folder, backends: ["bubblewrap"], onEvent: (e) => ev.push([e.event, performance.now(), e.id]) });
let killAt = 0, endAt = 0, reply = 0;
const sandbox: Sandbox = { ...inner, isolationFor: (l) => inner.isolationFor(l), offers: () => inner.offers(), close: () => inner.close(), start: async (o) => { const p = await inner.start(o); let killed = false; const q = { ...p, kill: () => { if (!killed) { killed = true; killAt = performance.now(); } p.kill(); } }; p.stdout.on("data", () => { reply ||= performance.now(); }); void p.ended.then(() => { endAt = performance.now(); }); return q; } };
const runner = createScriptRunner({ sandbox, ...nodeRuntime(), pool: { perKey: 2, total: 2 } });
await runner.run(sumJob());
const rows: number[][] = [];
for (let i = 0; i < 40; i++) {
  while (runner.counts().ready < 2) await pause(5);
  await pause(40); killAt = endAt = reply = 0; ev.length = 0;
  const a = performance.now(); const r = await runner.run(sumJob()); const z = performance.now();
  if (!r.ok) throw new Error(JSON.stringify(r));
  const ex = ev.find(([e]) => e === "SANDBOX_EXITED")?.[1] ?? 0;
  rows.push([reply - a, killAt - reply, ex - killAt, endAt - ex, z - endAt, z - a]);
}
const p = (i: number, q: number) => rows.map((r) => r[i]!).sort((a, b) => a - b)[Math.floor(q * rows.length)]!.toFixed(2);
for (const [i, n] of ["call->reply", "reply->kill", "kill->exited", "exited->ended", "ended->result", "total"].entries()) console.log(n.padEnd(15), "min", p(i, 0), "p25", p(i, .25), "p50", p(i, .5));
await runner.close(); await sandbox.close(); rmSync(folder, { recursive: true });
