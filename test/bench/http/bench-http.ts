import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MANY_CALLERS, median, middle, type Reading } from "../measure.ts";
import type { HttpContender } from "./contender.ts";
import { type LoadReading, load } from "./load.ts";
import { echoContender, mcpContender } from "./references.ts";
import { serverContender } from "./served.ts";

const SECONDS = Number(process.env.SALLYPORT_BENCH_SECONDS ?? 3);
/** Until everything that is ever going to be compiled is: a server runs for weeks. The same for all. */
const WARM_REQUESTS = Number(process.env.SALLYPORT_BENCH_WARM ?? 20_000);

interface HttpRow {
  name: string;
  p50Us: number;
  perSecond: number;
  ofEcho: number;
  ofMcp: number;
  addedP50Us: number;
  cpuUs: number;
}

/** The HTTP door against a bare echo and the MCP SDK's server, interleaved in rounds, all warm. */
export async function benchHttp(rounds: number): Promise<HttpRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-bench-http-"));
  const process = await serverContender({
    name: "Sallyport, durable: process",
    folder: join(folder, "a"),
    durability: "process",
  });
  const power = await serverContender({
    name: "Sallyport, durable: power",
    folder: join(folder, "b"),
    durability: "power",
  });
  const contenders = [await echoContender(process), await mcpContender("stream"), process, power];
  try {
    return rowsOf(contenders, await race(contenders, rounds));
  } finally {
    await Promise.all(contenders.map((contender) => contender.close()));
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Readings {
  one: Reading[];
  many: LoadReading[];
}

/** What each gives with one caller and with many; they take turns in every round. */
export async function race(
  contenders: readonly HttpContender[],
  rounds: number,
): Promise<Map<string, Readings>> {
  const readings = new Map(contenders.map(({ name }) => [name, { one: [], many: [] } as Readings]));
  for (const contender of contenders)
    await load(contender, { connections: MANY_CALLERS, requests: WARM_REQUESTS });
  for (let round = 1; round <= rounds; round += 1) {
    for (const contender of contenders) {
      const one = await load(contender, { connections: 1, seconds: 1 });
      const many = await load(contender, { connections: MANY_CALLERS, seconds: SECONDS });
      readings.get(contender.name)?.one.push(one);
      readings.get(contender.name)?.many.push(many);
    }
  }
  return readings;
}

function rowsOf([echo, mcp, ...houses]: HttpContender[], readings: Map<string, Readings>): HttpRow[] {
  const of = (contender: HttpContender | undefined) =>
    readings.get(contender?.name ?? "") ?? { one: [], many: [] };
  const perSecond = (contender: HttpContender | undefined) => median(of(contender).many, "perSecond");
  const p50 = (contender: HttpContender | undefined) => median(of(contender).one, "p50Us");
  return [echo, mcp, ...houses].map((contender) => ({
    name: contender?.name ?? "",
    p50Us: p50(contender),
    perSecond: perSecond(contender),
    ofEcho: perSecond(contender) / perSecond(echo),
    ofMcp: perSecond(contender) / perSecond(mcp),
    addedP50Us: p50(contender) - p50(echo),
    cpuUs: middle(of(contender).many.map(({ cpuUs }) => cpuUs)),
  }));
}

/** As a table for people. */
export function printHttp(rows: readonly HttpRow[]): void {
  console.log(`\nOver HTTP, ${MANY_CALLERS} connections (p50: one):`);
  console.table(
    Object.fromEntries(
      rows.map(({ name, p50Us, perSecond, ofEcho, ofMcp, addedP50Us, cpuUs }) => [
        name,
        {
          "p50 µs": Math.round(p50Us),
          "added p50 µs": Math.round(addedP50Us),
          "calls/s @64": Math.round(perSecond),
          "× echo": ofEcho.toFixed(2),
          "× MCP": ofMcp.toFixed(2),
          "cpu µs/call": Math.round(cpuUs),
        },
      ]),
    ),
  );
}
