import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { printAuthorise } from "./authorise.ts";
import { bytesPerCall } from "./bytes-per-call.ts";
import { floorContender } from "./floor.ts";
import { effectful, forgetful, guardedContender, inMemory, onDisk } from "./guarded.ts";
import { benchHttp, printHttp } from "./http/bench-http.ts";
import { benchTurn, printTurn } from "./loop/bench-turn.ts";
import { printLp1 } from "./lp1/bench-lp1.ts";
import { mcpContender } from "./mcp.ts";
import { type Contender, MANY_CALLERS, measure, median, type Reading } from "./measure.ts";
import { benchPathSandbox, printPathSandbox } from "./path-sandbox/bench-path-sandbox.ts";
import { benchIsolation } from "./sandbox.ts";
import { add } from "./subject.ts";
import { printTokens } from "./tokens.ts";

/*
 * Everything in one run on one machine, interleaved in rounds, so that the ratios mean something although the absolute
 * numbers move. Nothing here passes or fails.
 */

const ROUNDS = Number(process.env.SALLYPORT_BENCH_ROUNDS ?? 3);
// First, while this process is small: the larger it is, the longer the kernel takes to start another from it.
const isolation = await benchIsolation();
const folder = mkdtempSync(join(tmpdir(), "sallyport-bench-"));
const bytes = await bytesPerCall();
const durable = { one: 1_500, many: 40_000 };

const bare: Contender = {
  name: "bare function",
  call: async () => add({ a: 2, b: 3 }),
  calls: { one: 200_000, many: 400_000 },
};
const floor = floorContender(folder, bytes);
const mcp = await mcpContender();
const contenders: Contender[] = [
  bare,
  floor,
  mcp,
  await guardedContender({
    name: "guarded inline, no store",
    store: forgetful(),
    runner: "inline",
    calls: { one: 20_000, many: 60_000 },
  }),
  await guardedContender({
    name: "guarded inline, memory store",
    store: inMemory(),
    runner: "inline",
    calls: { one: 20_000, many: 60_000 },
  }),
  await guardedContender({
    name: "guarded inline, durable",
    store: await onDisk(join(folder, "a")),
    runner: "inline",
    calls: durable,
  }),
  await guardedContender({
    name: "guarded inline, durable, intent first",
    store: await onDisk(join(folder, "b")),
    runner: "inline",
    tool: effectful,
    calls: durable,
  }),
  await guardedContender({
    name: "guarded thread, memory store",
    store: inMemory(),
    runner: "thread",
    calls: { one: 5_000, many: 30_000 },
  }),
  await guardedContender({
    name: "guarded thread, durable",
    store: await onDisk(join(folder, "c")),
    runner: "thread",
    calls: { one: 1_500, many: 30_000 },
  }),
];

const one = new Map<string, Reading[]>();
const many = new Map<string, Reading[]>();
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const contender of contenders) {
    const calls = contender.calls ?? { one: 1_000, many: 10_000 };
    const warming = round === 0;
    const single = await measure(contender, 1, warming ? Math.ceil(calls.one / 4) : calls.one);
    const crowd = await measure(contender, MANY_CALLERS, warming ? Math.ceil(calls.many / 4) : calls.many);
    if (warming) continue;
    one.set(contender.name, [...(one.get(contender.name) ?? []), single]);
    many.set(contender.name, [...(many.get(contender.name) ?? []), crowd]);
  }
}
for (const { close } of contenders) await close?.();
rmSync(folder, { recursive: true, force: true });

function row(name: string) {
  const single = one.get(name) ?? [];
  const crowd = many.get(name) ?? [];
  const perSecond = median(crowd, "perSecond");
  const against = (other: Contender) => perSecond / median(many.get(other.name) ?? [], "perSecond");
  return {
    name,
    p50Us: median(single, "p50Us"),
    p99Us: median(single, "p99Us"),
    onePerSecond: median(single, "perSecond"),
    crowdP50Us: median(crowd, "p50Us"),
    crowdP99Us: median(crowd, "p99Us"),
    perSecond,
    ofBare: against(bare),
    ofFloor: against(floor),
    ofMcp: against(mcp),
  };
}

const rows = contenders.map(({ name }) => row(name));
console.log(
  `${cpus().length} cores, Node ${process.versions.node}, median of ${ROUNDS} rounds; ${MANY_CALLERS} callers in the right half`,
);
console.table(
  Object.fromEntries(
    rows.map(({ name, ...reading }) => [
      name,
      {
        "p50 µs": reading.p50Us.toFixed(1),
        "p99 µs": reading.p99Us.toFixed(1),
        "calls/s": Math.round(reading.onePerSecond),
        "p50 µs @64": reading.crowdP50Us.toFixed(0),
        "p99 µs @64": reading.crowdP99Us.toFixed(0),
        "calls/s @64": Math.round(reading.perSecond),
        "× bare": reading.ofBare.toPrecision(2),
        "× floor": reading.ofFloor.toFixed(2),
        "× MCP": reading.ofMcp.toFixed(2),
      },
    ]),
  ),
);
printTokens();
await printAuthorise();
const http = await benchHttp(ROUNDS);
printHttp(http);
const lp1 = printLp1();
const paths = await benchPathSandbox(ROUNDS);
printPathSandbox(paths);
const turns = await benchTurn(ROUNDS);
printTurn(turns);
const out = process.argv.find((argument) => argument.startsWith("--out="))?.slice(6);
if (out)
  writeFileSync(
    out,
    `${JSON.stringify({ node: process.versions.node, rounds: ROUNDS, bytes, rows, isolation, http, lp1, paths, turns }, null, 2)}\n`,
  );
else {
  console.log(JSON.stringify(isolation));
  console.log(JSON.stringify(rows));
  console.log(JSON.stringify({ http, lp1, paths, turns }));
}
