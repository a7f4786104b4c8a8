import { mkdtempSync, rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { openGround } from "./ground.ts";
import { KINDS, TURN } from "./mix.ts";
const folder = mkdtempSync("/tmp/benchh/g-"); process.env.TMPDIR = folder;
const { chmodSync } = await import("node:fs"); chmodSync(folder, 0o755);
import { writeHeapSnapshot } from "node:v8";
import { readFileSync } from "node:fs";
const counts: Map<string, [number, number]>[] = [];
function snap(step: number) { if (process.argv[4] !== "snap" || ![1, 5].includes(step)) return; const f = writeHeapSnapshot(`${folder}/x.heapsnapshot`); const h = JSON.parse(readFileSync(f, "utf8")); const F = h.snapshot.meta.node_fields, T = h.snapshot.meta.node_types[0], L = F.length; const ti = F.indexOf("type"), ni = F.indexOf("name"), si = F.indexOf("self_size"); const m = new Map<string, [number, number]>(); for (let i = 0; i < h.nodes.length; i += L) { const t = T[h.nodes[i + ti]]; let name = h.strings[h.nodes[i + ni]]; if (t === "string" || t === "concatenated string" || t === "sliced string") name = "(str)"; if (t === "code") name = "(code) " + name.slice(0, 40); const k = t + " " + String(name).slice(0, 60); const c = m.get(k) ?? [0, 0]; c[0]++; c[1] += h.nodes[i + si]; m.set(k, c); } counts.push(m);
 if (counts.length === 2) { const [a, b] = counts; const d = [...b!].map(([k, [n, s]]) => [k, n - (a!.get(k)?.[0] ?? 0), s - (a!.get(k)?.[1] ?? 0)] as const).sort((x, y) => y[2] - x[2]).slice(0, 22); for (const x of d) console.log(x.join("  ")); } }
const ground = await openGround(folder);
const kinds = process.argv[3] ? process.argv[3].split(",") : TURN;
const N = Number(process.argv[2]); let n = 0;
const run = async () => { while (n < N) { const k = kinds[n++ % kinds.length]!; await KINDS[k]!.run(ground).catch((e) => console.log(k, e.message)); } };
for (let step = 0; step < 6; step++) { n = 0; await Promise.all([run(), run(), run(), run()]); await pause(200); gc!(); gc!(); snap(step); const m = process.memoryUsage(); console.log(step, Object.entries(m).map(([k, v]) => `${k} ${(v / 2 ** 20).toFixed(1)}`).join("  ")); }
await pause(16000); gc!(); console.log("after 16 s", (process.memoryUsage().heapUsed / 2 ** 20).toFixed(1)); await ground.close(); rmSync(folder, { recursive: true });
