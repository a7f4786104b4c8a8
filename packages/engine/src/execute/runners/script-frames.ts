import { Buffer } from "node:buffer";
import type { WantedTool } from "./find-tool.ts";
import type { Order } from "./thread-frames.ts";

// Over a pipe a frame is two lines: its JSON head and its JSON body (or an empty line). JSON text never contains a raw
// newline, so anything else that gets into the pipe is noticed at its first line end at the latest.

type RunOrder = Extract<Order, { kind: "run" }>;

/** Main to process: first `hello`, then `run` once it is ready. Its clock is its own, so it is told how long it has. */
export type ScriptOrder =
  | ({ kind: "hello" } & WantedTool)
  | (Omit<RunOrder, "deadlineAt"> & { leftMs: number })
  | Exclude<Order, { kind: "run" }>;

const { stringify } = JSON;

/** An order as it goes into the pipe. */
export function encodeOrder(head: ScriptOrder, body = ""): string {
  return `${stringify(head)}\n${body}\n`;
}

const NEWLINE = 0x0a;

export interface FrameReaderOptions {
  onFrame(frame: string): void;
  /** The longest frame that is read; a longer one is reported as soon as that is plain. */
  maxBytes(): number;
  onTooLong(): void;
}

/** Cuts a pipe's bytes into frames. Holds no more than one frame, and nothing after one that is too long. */
export class FrameReader {
  readonly #options: FrameReaderOptions;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #lineEnds = 0;
  #gaveUp = false;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
  }

  take(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) {
      this.#lineEnds += 1;
      if (this.#lineEnds < 2) continue;
      this.#keep(chunk.subarray(from, at));
      from = at + 1;
      this.#deliver();
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(bytes: Buffer): void {
    if (this.#gaveUp || bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes <= this.#options.maxBytes()) return;
    this.#gaveUp = true;
    this.#pending = [];
    this.#options.onTooLong();
  }

  #deliver(): void {
    const frame = Buffer.concat(this.#pending).toString("utf8");
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#lineEnds = 0;
    if (!this.#gaveUp) this.#options.onFrame(frame);
  }
}
