/** Memory in use, in MiB. */
export interface Memory {
  /** What is alive in the heap. */
  heap: number;
  /** What the machine gives the process. */
  resident: number;
}

/** Memory in use now, with the garbage taken out. */
export function readMemory(): Memory {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { heap: heapUsed / 2 ** 20, resident: rss / 2 ** 20 };
}

/** The second half of readings over the first half. */
export function growthOf(memory: readonly Memory[]): Memory {
  const half = memory.length / 2;
  const growth = (of: keyof Memory) => {
    const values = memory.map((each) => each[of]);
    return meanOf(values.slice(half)) / meanOf(values.slice(0, half));
  };
  return { heap: growth("heap"), resident: growth("resident") };
}

/** Readings and growth on one line. */
export function inWords(memory: readonly Memory[]): string {
  const growth = growthOf(memory);
  const line = (of: keyof Memory) =>
    `${of} MiB after each tenth ${memory.map((each) => each[of].toFixed(1)).join(" ")} (× ${growth[of].toFixed(3)})`;
  return `${line("heap")}; ${line("resident")}`;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
