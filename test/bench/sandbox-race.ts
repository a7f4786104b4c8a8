/** One way of doing a thing, timed against others in the same run. */
export interface Racer {
  name: string;
  /** Untimed, before each run. */
  ready?(): Promise<unknown>;
  run(): Promise<unknown>;
  /** Untimed, after each run. */
  settle?(): Promise<unknown>;
}

export interface Timing {
  name: string;
  runs: number;
  /** The p50 of the quietest round. */
  bestMs: number;
  /** Over all rounds. */
  p50Ms: number;
  p99Ms: number;
  minMs: number;
}

export interface RaceSize {
  rounds: number;
  /** Runs of each racer in a round. */
  runs: number;
}

/** Times racers in turns, so that a busy moment of the machine falls on all of them; a first round does not count. */
export async function race(racers: readonly Racer[], { rounds, runs }: RaceSize): Promise<Timing[]> {
  const samples = new Map<Racer, number[][]>(racers.map((racer) => [racer, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const racer of racers) {
      const taken = await timeRuns(racer, round === 0 ? 2 : runs);
      if (round > 0) samples.get(racer)?.push(taken);
    }
  }
  return racers.map((racer) => timingOf(racer.name, samples.get(racer) ?? []));
}

async function timeRuns(racer: Racer, runs: number): Promise<number[]> {
  const taken: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await racer.ready?.();
    const began = performance.now();
    await racer.run();
    taken.push(performance.now() - began);
    await racer.settle?.();
  }
  return taken;
}

function timingOf(name: string, rounds: readonly number[][]): Timing {
  const all = rounds.flat();
  return {
    name,
    runs: all.length,
    bestMs: Math.min(...rounds.map((round) => at(round, 0.5))),
    p50Ms: at(all, 0.5),
    p99Ms: at(all, 0.99),
    minMs: Math.min(...all),
  };
}

function at(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
