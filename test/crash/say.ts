import { writeSync } from "node:fs";

/** Writes a line to the harness, synchronously: what it has read has really happened. */
export function say<Report>(report: Report): void {
  const bytes = Buffer.from(`${JSON.stringify(report)}\n`);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(1, bytes, written);
    } catch (error) {
      // The pipe is full; the harness will empty it.
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    }
  }
}
