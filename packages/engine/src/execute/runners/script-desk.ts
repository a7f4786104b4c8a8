import type { Readable } from "node:stream";
import { describeThrown } from "./describe-thrown.ts";
import { createDesk, loadFault } from "./entry-desk.ts";
import { loadOperations } from "./find-tool.ts";
import { FrameReader, type ScriptOrder } from "./script-frames.ts";
import { decodeFrame, encodeFrame, monotonicMs, type Order, type Reading } from "./thread-frames.ts";

// What runs inside a sandboxed process, without the process: `hello` names the tool, its module is loaded, `ready`
// is said, then `run` comes. Main sends nothing else before `ready`.

type Hello = Extract<ScriptOrder, { kind: "hello" }>;

/** The pipes to main, and what the process has used so far. */
export interface ScriptPipes {
  input: Readable;
  write(text: string): void;
  readUsage(): Reading;
}

/** What the process does with an error that nobody caught. */
export interface ScriptDesk {
  fail(error: unknown): void;
}

/** Serves main until the pipe ends. */
export function serveScript(pipes: ScriptPipes): ScriptDesk {
  const post = (frame: string) => pipes.write(`${frame}\n`);
  let take: ((order: Order, body: string) => void) | undefined;
  let call: number | undefined;

  async function load(hello: Hello): Promise<void> {
    try {
      const operations = await loadOperations(hello);
      take = createDesk({ tool: hello.tool, operations, post, readUsage: pipes.readUsage });
      post(encodeFrame({ kind: "ready", threadCpuMs: pipes.readUsage().threadCpuMs }));
    } catch (error) {
      post(encodeFrame({ kind: "unusable", fault: loadFault(error) }));
    }
  }

  const reader = new FrameReader({
    onFrame: (frame) => {
      const { head, body } = readOrder(frame);
      if (head.kind === "hello") void load(head);
      else take?.(withDeadline(head), body);
      if (head.kind === "run") call = head.call;
    },
    // Main wrote it: it is as long as it has to be.
    maxBytes: () => Number.POSITIVE_INFINITY,
    onTooLong: () => undefined,
  });
  pipes.input.on("data", (chunk: Buffer) => reader.take(chunk));

  return {
    fail: (error) => {
      const fault = describeThrown(error);
      if (call === undefined) post(encodeFrame({ kind: "unusable", fault: loadFault(error) }));
      else post(encodeFrame({ kind: "failed", call, ...pipes.readUsage(), fault }));
    },
  };
}

function withDeadline(order: Exclude<ScriptOrder, { kind: "hello" }>): Order {
  if (order.kind !== "run") return order;
  const { leftMs, ...rest } = order;
  return { ...rest, deadlineAt: monotonicMs() + leftMs };
}

function readOrder(frame: string): { head: ScriptOrder; body: string } {
  const { head, body } = decodeFrame(frame);
  return { head: head as ScriptOrder, body };
}
