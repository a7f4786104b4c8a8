import { Writable } from "node:stream";
import { getHeapStatistics } from "node:v8";
import { type MessagePort, parentPort } from "node:worker_threads";
import { CallServer } from "./call-server.ts";
import { stripTypesWith } from "./type-stripper.ts";
import type { UsageSample, WantedTool } from "./wire.ts";

// What runs inside a thread: take the private port, load the tool, then one call after the other, until the host ends
// the thread. Port and claims live in this closure; a tool that digs them out can only disturb the calls of its own tool
// and agent. Orders that arrive while the module loads wait in the port.

/** The first and only message over the public port. */
export interface Handover extends WantedTool {
  port: MessagePort;
  /** One Int32: the number of the call that was begun last, or a number below zero while the host takes orders back. */
  claims: SharedArrayBuffer;
  /** Where types are stripped from the tool's modules. */
  types: MessagePort;
}

const MAX_TAIL_BYTES = 4_096;

/**
 * Takes a tool's output away from the host's: stdout is dropped, of stderr the end is kept, and passed on only when the
 * thread exits, to explain why. (Reading a worker's streams in the host instead would keep the host alive for as long as
 * the thread lives, and unread they would fill up.) A tool that writes to file descriptor 1 itself gets around this.
 */
function quietOutput(): void {
  const passedOn = process.stderr;
  let tail = Buffer.alloc(0);
  replaceStream("stdout", () => {});
  replaceStream("stderr", (chunk) => {
    tail = Buffer.concat([tail, chunk]).subarray(-MAX_TAIL_BYTES);
  });
  process.on("exit", () => {
    if (tail.length > 0) passedOn.write(tail);
  });
}

function replaceStream(name: "stdout" | "stderr", take: (chunk: Buffer) => void): void {
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      take(chunk);
      done();
    },
  });
  Object.defineProperty(process, name, { value: stream, configurable: true, enumerable: true });
}

// Taken before any tool runs, so that a tool that breaks its own globals cannot break this file.
const { threadCpuUsage } = process;
const { compareExchange } = Atomics;

quietOutput();
parentPort?.once("message", async ({ port, claims, types, ...wanted }: Handover) => {
  stripTypesWith(types);
  const begun = new Int32Array(claims);
  const server = new CallServer({
    post: port.postMessage.bind(port),
    readUsage,
    claim: (call) => compareExchange(begun, 0, call - 1, call) === call - 1,
  });
  port.ref();
  await server.load(wanted);
  port.on("message", (message: string) => server.take(message));
});

function readUsage(): UsageSample {
  const cpu = threadCpuUsage();
  const heap = getHeapStatistics();
  return {
    threadCpuMs: (cpu.user + cpu.system) / 1_000,
    memoryBytes: heap.used_heap_size + heap.external_memory,
  };
}
