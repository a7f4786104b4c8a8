import { types } from "node:util";
import { getHeapStatistics } from "node:v8";
import { parentPort } from "node:worker_threads";
import type { RunFault } from "../../ports/runner.ts";
import { describeThrown } from "./describe-thrown.ts";
import { EntryChannel } from "./entry-channel.ts";
import { quietOutput } from "./entry-output.ts";
import { loadOperations, NoSuchTool } from "./find-tool.ts";
import { findOperation, invokeTool } from "./invoke-tool.ts";
import type { Encoded } from "./json-text.ts";
import { decodeFrame, encodeFrame, type Handover, type Order, type Reading } from "./thread-frames.ts";
import { createToolContext } from "./tool-context.ts";

// What runs inside a thread: take the private port, load the tool, then one call after the other, until main
// ends the thread. The port lives in this closure; a tool that digs it out can only end its own thread with it.
// Orders that arrive while the module loads wait in the port.

type RunOrder = Extract<Order, { kind: "run" }>;
type Post = (frame: string) => void;

const { parse } = JSON;
const { threadCpuUsage } = process;

quietOutput();
parentPort?.once("message", (handover: Handover) => void serve(handover));

async function serve(handover: Handover): Promise<void> {
  const { port } = handover;
  const post: Post = port.postMessage.bind(port);
  port.ref();
  try {
    const operations = await loadOperations(handover);
    port.on("message", createDesk(operations, { name: handover.tool, post }));
    post(encodeFrame({ kind: "ready", threadCpuMs: readUsage().threadCpuMs }));
  } catch (error) {
    post(encodeFrame({ kind: "unusable", fault: loadFault(error) }));
  }
}

function loadFault(error: unknown): RunFault {
  const threw = describeThrown(error);
  if (error instanceof NoSuchTool) return { kind: "died", message: threw.message };
  return { ...threw, message: `the tool's module failed to load: ${threw.message}` };
}

function createDesk(operations: object, tool: { name: string; post: Post }): (frame: string) => void {
  let current: { id: number; channel: EntryChannel } | undefined;
  return (frame) => {
    const { head, body } = readOrder(frame);
    if (head.kind === "run") {
      const channel = new EntryChannel({ call: head.call, deadlineAt: head.deadlineAt, post: tool.post });
      current = { id: head.call, channel };
      runCall(head, { input: body, operations, tool: tool.name, channel, post: tool.post });
    } else if (head.call === current?.id) {
      if (head.kind === "abort") current.channel.abort("cancelled");
      else current.channel.answer(head.question, { error: head.error, body });
    }
  };
}

interface Desk {
  input: string;
  operations: object;
  tool: string;
  channel: EntryChannel;
  post: Post;
}

function runCall(order: RunOrder, desk: Desk): void {
  const operation = findOperation(desk.operations, order.operation);
  const context = createToolContext(order.facts, desk.channel);
  const outcome: Encoded | Promise<Encoded> = operation
    ? invokeTool(operation, { input: parse(desk.input), context, maxOutputBytes: order.maxBytes })
    : { ok: false, fault: { kind: "threw", message: `${desk.tool} has no operation "${order.operation}"` } };
  const conclude = (encoded: Encoded) => report(encoded, order.call, desk);
  if (types.isPromise(outcome)) void outcome.then(conclude);
  else conclude(outcome);
}

function report(encoded: Encoded, call: number, { channel, post }: Desk): void {
  const late = channel.stopReason === "timeout" && !encoded.ok;
  channel.end();
  const ending = { call, ...readUsage() };
  if (encoded.ok) post(encodeFrame({ kind: "done", ...ending }, encoded.text));
  else post(encodeFrame({ kind: "failed", ...ending, fault: late ? { kind: "timeout" } : encoded.fault }));
}

function readUsage(): Reading {
  const cpu = threadCpuUsage();
  const heap = getHeapStatistics();
  return {
    threadCpuMs: (cpu.user + cpu.system) / 1_000,
    memoryBytes: heap.used_heap_size + heap.external_memory,
  };
}

/** Main wrote it: its shape needs no check. */
function readOrder(frame: string): { head: Order; body: string } {
  const { head, body } = decodeFrame(frame);
  return { head: head as Order, body };
}
