import type { Round } from "./contender-process.ts";
import type { RemoteContender, RemoteReading } from "./remote-contender.ts";

/** With the processor time that the server took for a call. */
export interface RaceReading extends RemoteReading {
  serverCpuUs: number;
}

/** Every reading of each contender for one kind of round, the warming one left out. */
export type Readings = Map<RemoteContender, RaceReading[]>;

export interface Race extends Round {
  rounds: number;
  /** What the server has used so far, in milliseconds. */
  serverCpu?: () => number;
}

/** Every contender once a round, one after the other, so that all see the same hour; the first round warms up. */
export async function race(
  contenders: readonly RemoteContender[],
  { rounds, serverCpu = () => 0, ...round }: Race,
): Promise<Readings> {
  const readings: Readings = new Map(contenders.map((contender) => [contender, []]));
  for (let count = 0; count <= rounds; count += 1) {
    for (const contender of contenders) {
      const [before, started] = [serverCpu(), performance.now()];
      const reading = await contender.measure(round);
      const calls = (reading.perSecond * (performance.now() - started)) / 1_000;
      const serverCpuUs = ((serverCpu() - before) / calls) * 1_000;
      if (count > 0) readings.get(contender)?.push({ ...reading, serverCpuUs });
    }
  }
  return readings;
}

/** The middle of a contender's rounds. */
export function middleOf(readings: Readings, contender: RemoteContender | undefined): RaceReading {
  const all = (contender && readings.get(contender)) ?? [];
  const middle = (of: keyof Omit<RaceReading, "name">) =>
    all.map((reading) => reading[of]).toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
  return {
    name: contender?.name ?? "",
    p50Us: middle("p50Us"),
    p99Us: middle("p99Us"),
    perSecond: middle("perSecond"),
    cpuUs: middle("cpuUs"),
    serverCpuUs: middle("serverCpuUs"),
  };
}
