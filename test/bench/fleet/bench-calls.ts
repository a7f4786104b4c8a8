import { bytesPerCall } from "../bytes-per-call.ts";
import { MANY_CALLERS } from "../measure.ts";
import { postgresCpu } from "./postgres-cpu.ts";
import { middleOf, race } from "./race.ts";
import { type RemoteContender, startContender } from "./remote-contender.ts";

export interface CallRow {
  name: string;
  /** With one caller. */
  p50Us: number;
  p99Us: number;
  /** With many. */
  perSecond: number;
  /** Processor time a call, in the caller's process and in PostgreSQL. */
  cpuUs: number;
  serverCpuUs: number;
  ofBareAtOne: number;
  ofBareAtMany: number;
}

/** A durable guarded call on PostgreSQL against a bare transaction that writes as many bytes; aim: 60 % at 64 callers. */
export async function benchCalls(url: string, rounds: number): Promise<CallRow[]> {
  const start = (module: string, place: Record<string, string>) =>
    startContender(new URL(module, import.meta.url), { url, ...place });
  const bare = await start("./bare-transaction.ts", { bytes: String(await bytesPerCall()) });
  const contenders: RemoteContender[] = [
    bare,
    await start("./guarded-call.ts", { schema: "calls" }),
    await start("./guarded-call.ts", { schema: "effects", tool: "effectful" }),
  ];
  const serverCpu = await postgresCpu(url);
  const one = await race(contenders, { rounds, callers: 1, ms: 1_000 });
  const many = await race(contenders, { rounds, callers: MANY_CALLERS, ms: 2_000, serverCpu });
  await Promise.all(contenders.map((contender) => contender.close()));
  const [bareOne, bareMany] = [middleOf(one, bare), middleOf(many, bare)];
  return contenders.map((contender) => {
    const [single, crowd] = [middleOf(one, contender), middleOf(many, contender)];
    return {
      name: contender.name,
      p50Us: single.p50Us,
      p99Us: single.p99Us,
      perSecond: crowd.perSecond,
      cpuUs: crowd.cpuUs,
      serverCpuUs: crowd.serverCpuUs,
      ofBareAtOne: single.perSecond / bareOne.perSecond,
      ofBareAtMany: crowd.perSecond / bareMany.perSecond,
    };
  });
}

/** As a table for people. */
export function printCalls(rows: readonly CallRow[]): void {
  console.log(
    `\nA durable call on PostgreSQL (aim: 0.60 of the bare transaction at ${MANY_CALLERS} callers)`,
  );
  console.table(
    Object.fromEntries(
      rows.map(({ name, ...row }) => [
        name,
        {
          "p50 µs": Math.round(row.p50Us),
          "p99 µs": Math.round(row.p99Us),
          "× bare @1": row.ofBareAtOne.toFixed(2),
          "calls/s @64": Math.round(row.perSecond),
          "cpu µs/call": Math.round(row.cpuUs),
          "server cpu µs/call": Math.round(row.serverCpuUs),
          "× bare @64": row.ofBareAtMany.toFixed(2),
        },
      ]),
    ),
  );
}
