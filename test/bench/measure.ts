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
  return { name, ...spread(latencies, performance.now() - started) };
}

/** As `measure`, for so long: where the machine is slow there are fewer calls. */
export async function measureFor({ name, call }: Contender, callers: number, ms: number): Promise<Reading> {
  const latencies: number[] = [];
  const started = performance.now();
  const caller = async () => {
    while (performance.now() - started < ms) {
      const began = performance.now();
      await call();
      latencies.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { name, ...spread(Float64Array.from(latencies), performance.now() - started) };
}

function spread(latencies: Float64Array, ms: number): Omit<Reading, "name"> {
  latencies.sort();
  const { length } = latencies;
  const at = (share: number) => (latencies[Math.min(length - 1, Math.floor(share * length))] ?? 0) * 1_000;
  return { p50Us: at(0.5), p99Us: at(0.99), perSecond: (length / ms) * 1_000 };
}

/** The middle of several rounds, so that one busy moment of the machine does not decide. */
export function median(readings: readonly Reading[], of: keyof Omit<Reading, "name">): number {
  return middle(readings.map((reading) => reading[of]));
}

export function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
