import autocannon, { type Result } from "autocannon";
import { cpuMsOf } from "../cpu-time.ts";
import type { Reading } from "../measure.ts";
import type { HttpContender } from "./contender.ts";

/** With how much processor time the server took for a request: what says most where others use the machine too. */
export interface LoadReading extends Reading {
  cpuUs: number;
}

export type Load = { connections: number } & ({ seconds: number } | { requests: number });

/** Loads a contender over so many connections. Rejects when any answer is not the right one: a refusal would be fast. */
export async function load(contender: HttpContender, given: Load): Promise<LoadReading> {
  const { name, url, pid, request, isRight } = contender;
  const cpuBefore = cpuMsOf(pid);
  const latencies: number[] = [];
  let made = 0;
  let wrong: string | undefined;
  const result = await new Promise<Result>((resolve, reject) => {
    const tracker = autocannon(
      {
        url,
        method: "POST",
        connections: given.connections,
        ...("seconds" in given ? { duration: given.seconds } : { amount: given.requests }),
        sampleInt: 100,
        setupClient(client) {
          const { headers, body } = request(made);
          made += 1;
          client.setHeadersAndBody(headers, body);
        },
        verifyBody(body) {
          const right = isRight(body);
          if (!right) wrong ??= body;
          return right;
        },
      },
      (error, done) => (error ? reject(error) : resolve(done)),
    );
    tracker.on("response", (...[, , , ms]: [unknown, number, number, number]) => latencies.push(ms));
  });
  const bad = result.errors + result.non2xx + result.mismatches;
  if (bad > 0) throw new Error(`${name}: ${bad} of ${result.requests.total} went wrong; ${wrong ?? ""}`);
  const { total } = result.requests;
  const cpuUs = ((cpuMsOf(pid) - cpuBefore) / total) * 1_000;
  return { name, ...spread(latencies), perSecond: total / result.duration, cpuUs };
}

function spread(latencies: readonly number[]): { p50Us: number; p99Us: number } {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => (sorted[Math.floor(share * sorted.length)] ?? 0) * 1_000;
  return { p50Us: at(0.5), p99Us: at(0.99) };
}
