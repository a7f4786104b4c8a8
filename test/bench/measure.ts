/** One way of making a call, to be timed. */
export interface Contender {
  name: string;
  call(): unknown;
  /** Calls at each level of concurrency; slow ones take fewer. */
  calls?: { one: number; many: number };
  close?(): Promise<void>;
}

export interface Reading {
  name: string;
  p50Us: number;
  p99Us: number;
  perSecond: number;
}

export const MANY_CALLERS = 64;

/** Times `calls` calls made by `callers` callers, each waiting for its answer before the next. */
export async function measure({ name, call }: Contender, callers: number, calls: number): Promise<Reading> {
  const latencies = new Float64Array(calls);
  let next = 0;
  const started = performance.now();
  const caller = async () => {
    while (next < calls) {
      const index = next++;
      const began = performance.now();
      await call();
      latencies[index] = performance.now() - began;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const seconds = (performance.now() - started) / 1_000;
  latencies.sort();
  const at = (share: number) => (latencies[Math.min(calls - 1, Math.floor(share * calls))] ?? 0) * 1_000;
  return { name, p50Us: at(0.5), p99Us: at(0.99), perSecond: calls / seconds };
}

/** The middle of several rounds, so that one busy moment of the machine does not decide. */
export function median(readings: readonly Reading[], of: keyof Omit<Reading, "name">): number {
  const sorted = readings.map((reading) => reading[of]).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
