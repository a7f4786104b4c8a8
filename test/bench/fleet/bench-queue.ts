import { existsSync } from "node:fs";
import { reasonToSkip, startService } from "../../../scripts/services.ts";
import { middleOf, race } from "./race.ts";
import { type RemoteContender, startContender } from "./remote-contender.ts";

export interface QueueRow {
  name: string;
  p50Ms: number;
  p99Ms: number;
  /** Of Sallyport's median. */
  times: number;
}

const PEERS = new URL("../peers/", import.meta.url);
const HAS_PEERS = existsSync(new URL("node_modules/bullmq", PEERS));

/** From accepting a call until its outcome is known, one at a time, against queues for jobs; aim: 5 ms. */
export async function benchQueue(url: string, rounds: number): Promise<QueueRow[]> {
  const redis = HAS_PEERS && !reasonToSkip("redis") ? await startService("redis") : undefined;
  const contenders: RemoteContender[] = [
    await startContender(new URL("./accepted-call.ts", import.meta.url), { url, schema: "queue" }),
  ];
  const peer = async (module: string, place: Record<string, string>) =>
    contenders.push(await startContender(new URL(module, PEERS), place));
  try {
    if (redis) await peer("bullmq-queue.mjs", { port: String(redis.port) });
    if (HAS_PEERS) await peer("graphile-queue.mjs", { url });
    if (HAS_PEERS) await peer("pg-boss-queue.mjs", { url });
    const readings = await race(contenders, { rounds, callers: 1, ms: 2_000 });
    const ours = middleOf(readings, contenders[0]).p50Us;
    return contenders.map((contender) => {
      const { name, p50Us, p99Us } = middleOf(readings, contender);
      return { name, p50Ms: p50Us / 1_000, p99Ms: p99Us / 1_000, times: p50Us / ours };
    });
  } finally {
    await Promise.all(contenders.map((contender) => contender.close()));
    await redis?.[Symbol.asyncDispose]();
  }
}

/** As a table for people. */
export function printQueue(rows: readonly QueueRow[]): void {
  console.log("\nAn asynchronous call: accepted → run → outcome known, one at a time (aim: p50 ≤ 5 ms)");
  if (!HAS_PEERS) console.log("No other queue is installed; to compare: npm ci --prefix test/bench/peers");
  console.table(
    Object.fromEntries(
      rows.map(({ name, p50Ms, p99Ms, times }) => [
        name,
        { "p50 ms": p50Ms.toFixed(2), "p99 ms": p99Ms.toFixed(2), "× Sallyport": times.toFixed(2) },
      ]),
    ),
  );
}
