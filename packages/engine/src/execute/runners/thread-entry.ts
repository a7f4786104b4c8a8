import { getHeapStatistics } from "node:v8";
import { parentPort } from "node:worker_threads";
import { createDesk, loadFault } from "./entry-desk.ts";
import { quietOutput } from "./entry-output.ts";
import { loadOperations } from "./find-tool.ts";
import { decodeFrame, encodeFrame, type Handover, type Order, type Reading } from "./thread-frames.ts";

// What runs inside a thread: take the private port, load the tool, then one call after the other, until main
// ends the thread. The port lives in this closure; a tool that digs it out can only end its own thread with it.
// Orders that arrive while the module loads wait in the port.

const { threadCpuUsage } = process;

quietOutput();
parentPort?.once("message", (handover: Handover) => void serve(handover));

async function serve(handover: Handover): Promise<void> {
  const { port, tool } = handover;
  const post: (frame: string) => void = port.postMessage.bind(port);
  port.ref();
  try {
    const operations = await loadOperations(handover);
    const take = createDesk({ tool, operations, post, readUsage });
    port.on("message", (frame: string) => {
      const { head, body } = decodeFrame(frame);
      // Main wrote it: its shape needs no check.
      take(head as Order, body);
    });
    post(encodeFrame({ kind: "ready", threadCpuMs: readUsage().threadCpuMs }));
  } catch (error) {
    post(encodeFrame({ kind: "unusable", fault: loadFault(error) }));
  }
}

function readUsage(): Reading {
  const cpu = threadCpuUsage();
  const heap = getHeapStatistics();
  return {
    threadCpuMs: (cpu.user + cpu.system) / 1_000,
    memoryBytes: heap.used_heap_size + heap.external_memory,
  };
}
