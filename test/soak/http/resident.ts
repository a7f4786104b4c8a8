import { readFileSync } from "node:fs";

const EVERY_MS = 250;

/** Looks at a process's memory again and again while it lives. */
export class Resident implements Disposable {
  readonly #samples: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#timer = setInterval(() => {
      const bytes = residentBytes(pid);
      if (bytes > 0) this.#samples.push(bytes);
    }, EVERY_MS);
  }

  get seconds(): number {
    return (this.#samples.length * EVERY_MS) / 1_000;
  }

  /** The mean of each tenth of the time, in MiB. */
  get tenths(): number[] {
    const length = this.#samples.length / 10;
    return Array.from({ length: 10 }, (_, tenth) => {
      const part = this.#samples.slice(Math.floor(tenth * length), Math.floor((tenth + 1) * length));
      return Math.round(part.reduce((sum, bytes) => sum + bytes, 0) / Math.max(1, part.length) / 1_048_576);
    });
  }

  /** The mean of the second half over that of the first. */
  get growth(): number {
    const { tenths } = this;
    const half = (from: number) => tenths.slice(from, from + 5).reduce((sum, mean) => sum + mean, 0);
    return half(5) / half(0);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** 0 when it is gone. */
export function residentBytes(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(kib ?? 0) * 1_024;
  } catch {
    return 0;
  }
}
