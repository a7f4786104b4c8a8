import { isUtf8 } from "node:buffer";
import { once } from "node:events";
import type { Readable } from "node:stream";
import type { RunFault } from "../../ports/runner.ts";

/** How long output that is under way may still come once the process is gone; its pipes are closed by then. */
const LONGEST_REST_MS = 1_000;

export interface OutputBounds {
  /** How much is kept. */
  maxBytes: number;
  /** Which part: the beginning, up to the point where it became too much, or the end. */
  keep: "start" | "end";
  /** How much may come at all. `onExceeded` is called once. */
  limit?: { bytes: number; onExceeded(): void };
}

/** Reads a process's stream to its end and keeps a bounded part of it. */
export class KeptOutput {
  readonly #bounds: OutputBounds;
  readonly #closed: Promise<unknown>;
  #chunks: Buffer[] = [];
  #keptBytes = 0;
  #bytes = 0;

  constructor(stream: Readable, bounds: OutputBounds) {
    this.#bounds = bounds;
    this.#closed = once(stream, "close").catch(() => undefined);
    stream.on("data", (chunk: Buffer) => this.#take(chunk));
    // A broken pipe ends the output; why the process ended is told elsewhere.
    stream.on("error", () => undefined);
  }

  /** How much came in all. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What was kept so far. */
  get kept(): Buffer {
    const all = Buffer.concat(this.#chunks);
    return this.#bounds.keep === "end" ? all.subarray(-this.#bounds.maxBytes) : all;
  }

  /** Resolves when the stream has closed, or after a short while: never later. */
  async closed(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, LONGEST_REST_MS);
    });
    await Promise.race([this.#closed, late]);
    clearTimeout(timer);
  }

  #take(chunk: Buffer): void {
    const before = this.#bytes;
    const { maxBytes, keep, limit } = this.#bounds;
    this.#bytes += chunk.length;
    if (keep === "end") this.#keepEnd(chunk);
    else if (before < maxBytes) this.#chunks.push(chunk.subarray(0, maxBytes - before));
    if (limit && before <= limit.bytes && this.#bytes > limit.bytes) limit.onExceeded();
  }

  /** Old chunks go as soon as the newer ones alone are enough. */
  #keepEnd(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#keptBytes += chunk.length;
    for (
      let first = this.#chunks[0];
      first && this.#keptBytes - first.length >= this.#bounds.maxBytes;
      first = this.#chunks[0]
    ) {
      this.#chunks.shift();
      this.#keptBytes -= first.length;
    }
  }
}

/** Output as text, or in base64 when it is none (FR-EXE-06). */
export function textOrBase64(bytes: Buffer): { text: string; encoding: "utf8" | "base64" } {
  return isUtf8(bytes)
    ? { text: bytes.toString("utf8"), encoding: "utf8" }
    : { text: bytes.toString("base64"), encoding: "base64" };
}

/** The end of an output as text: it does not begin within a character, and says when something is missing. */
export function tailText(output: KeptOutput, maxBytes: number): string {
  const kept = output.kept;
  const tail = kept.subarray(-maxBytes);
  const missing = output.bytes - tail.length;
  if (missing <= 0) return tail.toString("utf8");
  const start = tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return `[${missing} bytes left out]\n${tail.subarray(Math.max(0, start)).toString("utf8")}`;
}

/** The fault of a process that printed more than it may. */
export function outputFault(maxBytes: number): RunFault {
  return { kind: "limit", limit: "output", message: `it printed more than ${maxBytes} bytes` };
}
