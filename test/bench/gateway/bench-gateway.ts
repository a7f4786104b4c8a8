import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { race } from "../http/bench-http.ts";
import { startServer } from "../http/child-server.ts";
import type { HttpContender } from "../http/contender.ts";
import { MANY_CALLERS, median, middle } from "../measure.ts";

export interface GatewayRow {
  name: string;
  p50Us: number;
  /** With one caller, above calling the worker directly. */
  addedP50Us: number;
  perSecond: number;
  ofProxy: number;
  cpuUs: number;
}

/** A worker called directly, through a bare reverse proxy and through a gateway, interleaved in rounds, all warm. */
export async function benchGateway(rounds: number): Promise<GatewayRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-bench-gateway-"));
  const contenders: HttpContender[] = [];
  try {
    const direct = await processOf("worker called directly", ["./worker.ts"]);
    contenders.push(direct);
    contenders.push(await processOf("bare reverse proxy", ["./proxy.ts", direct.url.replace("/run", "")]));
    for (const durability of ["process", "power"] as const) {
      const place = join(folder, durability);
      contenders.push(await gatewayOf(direct.url.replace("/run", ""), { place, durability }));
    }
    return rowsOf(contenders, await race(contenders, rounds));
  } finally {
    // The worker last, which the others call.
    for (const contender of contenders.toReversed()) await contender.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const JSON_TYPE = { "content-type": "application/json" };
const META = { trace_id: "t", tool_run_id: "r", domain_id: "bench", tool_id: "bench.add" };
const HOUR_MS = 3_600_000;

async function processOf(name: string, [script, ...args]: [string, ...string[]]): Promise<HttpContender> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const { report, pid, close } = await startServer<{ url: string }>([path, ...args]);
  const meta = { ...META, deadline_ms: Date.now() + HOUR_MS };
  const body = JSON.stringify({ meta, input: { a: 2, b: 3 } });
  const isRight = (text: string) => text.includes('"output":{"result":5}');
  return {
    name,
    url: `${report.url}/run`,
    pid,
    request: () => ({ headers: JSON_TYPE, body }),
    isRight,
    close,
  };
}

interface Kept {
  place: string;
  durability: "process" | "power";
}

async function gatewayOf(worker: string, { place, durability }: Kept): Promise<HttpContender> {
  mkdirSync(place, { recursive: true });
  const write = (name: string, value: unknown) => writeFileSync(join(place, name), JSON.stringify(value));
  const number = { type: "number" };
  const transport = { type: "http", base_url: worker };
  const tool = { tool_id: "bench.add", kind: "service_worker", transport };
  const schemas = { input_schema_ref: "input.json", output_schema_ref: "output.json" };
  write("input.json", { type: "object", properties: { a: number, b: number }, required: ["a", "b"] });
  write("output.json", { type: "object", properties: { result: number }, required: ["result"] });
  write("manifest.yaml", { domain_id: "bench", version: "1", tools: [{ ...tool, ...schemas }] });
  const limit = 4 * MANY_CALLERS;
  write("policies.yaml", {
    concurrency: { max_inflight: limit, per_tool_max_inflight: { "bench.add": limit } },
  });
  write("sallyport.yaml", {
    ...{ domain: ".", durability, grants: [{ id: "adding", tools: ["bench.add"] }] },
    limits: { concurrentCalls: limit, concurrentCallsPerAgent: limit },
  });
  const bin = fileURLToPath(new URL("../../../packages/server/bin/sallyport.js", import.meta.url));
  const { report, pid, close } = await startServer<{ url: string }>(
    [bin, "gateway", "--port", "0", "--json"],
    {
      cwd: place,
    },
  );
  return {
    name: `gateway, durability ${durability}`,
    url: `${report.url}/v1/tools/bench.add:run`,
    pid,
    request: () => ({ headers: JSON_TYPE, body: JSON.stringify({ input: { a: 2, b: 3 } }) }),
    isRight: (text) => text.includes('"ok":true') && text.includes('"output":{"result":5}'),
    close,
  };
}

function rowsOf(contenders: readonly HttpContender[], read: Awaited<ReturnType<typeof race>>): GatewayRow[] {
  const rows = contenders.map(({ name }) => {
    const { one, many } = read.get(name) ?? { one: [], many: [] };
    const cpuUs = middle(many.map((reading) => reading.cpuUs));
    return { name, p50Us: median(one, "p50Us"), perSecond: median(many, "perSecond"), cpuUs };
  });
  const [direct, proxy] = rows;
  return rows.map((row) => ({
    ...row,
    addedP50Us: row.p50Us - (direct?.p50Us ?? 0),
    ofProxy: row.perSecond / (proxy?.perSecond ?? 0),
  }));
}

/** As a table for people. */
export function printGateway(rows: readonly GatewayRow[]): void {
  console.log(
    `\nA worker behind a gateway, ${MANY_CALLERS} connections (p50: one); aims: 600 µs added, 0.5 × proxy`,
  );
  console.table(
    Object.fromEntries(
      rows.map(({ name, p50Us, addedP50Us, perSecond, ofProxy, cpuUs }) => [
        name,
        {
          "p50 µs": Math.round(p50Us),
          "added p50 µs": Math.round(addedP50Us),
          "calls/s @64": Math.round(perSecond),
          "× proxy": ofProxy.toFixed(2),
          "cpu µs/call": Math.round(cpuUs),
        },
      ]),
    ),
  );
}
