import type { RunFault } from "../../ports/runner.ts";
import type { Reading } from "./thread-frames.ts";

const MIB = 1_048_576;
/** V8 starts to look for buffers nobody uses when 64 MiB have gathered; until it is done we saw up to 140. */
const BUFFER_GARBAGE_BYTES = 128 * MIB;

/** A reading taken from outside, while the thread may be in the middle of anything. */
export interface Measurement extends Reading {
  heapBytes: number;
}

/**
 * The fault of a tool that uses more than its limit: of heap, or of heap and buffers together. Buffers that wait
 * to be collected cannot be told from those in use, so the sum is allowed as many of them as V8 lets gather.
 */
export function findMemoryFault(measured: Measurement, limitBytes: number): RunFault | undefined {
  const overHeap = measured.heapBytes > limitBytes;
  if (!overHeap && measured.memoryBytes <= limitBytes + BUFFER_GARBAGE_BYTES) return undefined;
  const [used, limit] = [measured.memoryBytes, limitBytes].map((bytes) => (bytes / MIB).toFixed(1));
  return { kind: "memory", message: `the tool used ${used} MiB of memory; its limit is ${limit} MiB` };
}
