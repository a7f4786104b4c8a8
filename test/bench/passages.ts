import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { bytesPerCall } from "./bytes-per-call.ts";
import { floorContender } from "./floor.ts";
import { effectful, forgetful, guardedContender, inMemory, onDisk } from "./guarded.ts";
import { mcpContender } from "./mcp.ts";
import { type Contender, MANY_CALLERS, measure, median, type Reading } from "./measure.ts";
import { add } from "./subject.ts";

interface PassageRow {
  name: string;
  p50Us: number;
  p99Us: number;
  onePerSecond: number;
  crowdP50Us: number;
  crowdP99Us: number;
  perSecond: number;
  ofBare: number;
  ofFloor: number;
  ofMcp: number;
}

interface Readings {
  one: Reading[];
  many: Reading[];
}

/** The whole passage in this process against a bare function, a durable write and the MCP SDK, in rounds. */
export async function benchPassages(rounds: number): Promise<PassageRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-bench-"));
  const references = await openReferences(folder);
  const contenders = [...references, ...(await openGuarded(folder))];
  const readings = await race(contenders, rounds);
  for (const { close } of contenders) await close?.();
  rmSync(folder, { recursive: true, force: true });
  const [bare, floor, mcp] = references.map(({ name }) => perSecondOf(readings.get(name)));
  return contenders.map(({ name }) => {
    const { one = [], many = [] } = readings.get(name) ?? {};
    const perSecond = median(many, "perSecond");
    return {
      name,
      p50Us: median(one, "p50Us"),
      p99Us: median(one, "p99Us"),
      onePerSecond: median(one, "perSecond"),
      crowdP50Us: median(many, "p50Us"),
      crowdP99Us: median(many, "p99Us"),
      perSecond,
      ofBare: perSecond / (bare ?? 0),
      ofFloor: perSecond / (floor ?? 0),
      ofMcp: perSecond / (mcp ?? 0),
    };
  });
}

async function openReferences(folder: string): Promise<Contender[]> {
  const bare: Contender = {
    name: "bare function",
    call: async () => add({ a: 2, b: 3 }),
    calls: { one: 200_000, many: 400_000 },
  };
  return [bare, floorContender(folder, await bytesPerCall()), await mcpContender()];
}

async function openGuarded(folder: string): Promise<Contender[]> {
  const inProcess = { runner: "inline", calls: { one: 20_000, many: 60_000 } } as const;
  const durable = { runner: "inline", calls: { one: 1_500, many: 40_000 } } as const;
  const stored = async (name: string) => await onDisk(join(folder, name));
  return [
    await guardedContender({ name: "guarded inline, no store", store: forgetful(), ...inProcess }),
    await guardedContender({ name: "guarded inline, memory store", store: inMemory(), ...inProcess }),
    await guardedContender({ name: "guarded inline, durable", store: await stored("a"), ...durable }),
    await guardedContender({
      name: "guarded inline, durable, intent first",
      store: await stored("b"),
      tool: effectful,
      ...durable,
    }),
    await guardedContender({
      name: "guarded thread, memory store",
      store: inMemory(),
      runner: "thread",
      calls: { one: 5_000, many: 30_000 },
    }),
    await guardedContender({
      name: "guarded thread, durable",
      store: await stored("c"),
      runner: "thread",
      calls: { one: 1_500, many: 30_000 },
    }),
  ];
}

/** The first round warms up. */
async function race(contenders: readonly Contender[], rounds: number): Promise<Map<string, Readings>> {
  const readings = new Map(contenders.map(({ name }) => [name, { one: [], many: [] } as Readings]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const contender of contenders) {
      const calls = contender.calls ?? { one: 1_000, many: 10_000 };
      const share = round === 0 ? 4 : 1;
      const one = await measure(contender, 1, Math.ceil(calls.one / share));
      const many = await measure(contender, MANY_CALLERS, Math.ceil(calls.many / share));
      if (round === 0) continue;
      readings.get(contender.name)?.one.push(one);
      readings.get(contender.name)?.many.push(many);
    }
  }
  return readings;
}

function perSecondOf(readings: Readings | undefined): number {
  return median(readings?.many ?? [], "perSecond");
}

/** As a table for people. */
export function printPassages(rows: readonly PassageRow[]): void {
  console.log(
    `${cpus().length} cores, Node ${process.versions.node}; ${MANY_CALLERS} callers in the right half`,
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
}
