import { types } from "node:util";
import type { RunFault } from "../../ports/runner.ts";
import { describeThrown } from "./describe-thrown.ts";
import { EntryChannel } from "./entry-channel.ts";
import { NoSuchTool } from "./find-tool.ts";
import { findOperation, invokeTool } from "./invoke-tool.ts";
import type { Encoded } from "./json-text.ts";
import { encodeFrame, type Order, type Reading } from "./thread-frames.ts";
import { createToolContext } from "./tool-context.ts";
import { withoutFolders } from "./without-folders.ts";

// Where a loaded tool takes its orders, the same in a thread and in a process of its own: one call at a time.

type RunOrder = Extract<Order, { kind: "run" }>;

/** What a desk works with. */
export interface EntryDesk {
  /** The tool's name, for messages. */
  tool: string;
  operations: object;
  post: (frame: string) => void;
  /** What the thread or process has used so far. */
  readUsage: () => Reading;
}

/** Takes one order after the other; orders about a call that is over are ignored. */
export function createDesk(desk: EntryDesk): (order: Order, body: string) => void {
  let current: { id: number; channel: EntryChannel } | undefined;
  return (order, body) => {
    if (order.kind === "run") {
      const { call, deadlineAt } = order;
      const channel = new EntryChannel({ call, deadlineAt, post: desk.post });
      current = { id: order.call, channel };
      runCall(order, body, { desk, channel });
    } else if (order.call === current?.id) {
      if (order.kind === "abort") current.channel.abort("cancelled");
      else current.channel.answer(order.question, { error: order.error, body });
    }
  };
}

/** What it means for a call that its tool's module could not be loaded. Where the module lies, only the stack says. */
export function loadFault(error: unknown): RunFault {
  const threw = describeThrown(error);
  const message = withoutFolders(threw.message);
  if (error instanceof NoSuchTool) return { kind: "died", message };
  return { ...threw, message: `the tool's module failed to load: ${message}` };
}

interface Place {
  desk: EntryDesk;
  channel: EntryChannel;
}

const { parse } = JSON;

function runCall(order: RunOrder, input: string, place: Place): void {
  const { desk, channel } = place;
  const operation = findOperation(desk.operations, order.operation);
  const context = createToolContext(order.facts, channel);
  const outcome: Encoded | Promise<Encoded> = operation
    ? invokeTool(operation, { input: parse(input), context, maxOutputBytes: order.maxBytes })
    : { ok: false, fault: { kind: "threw", message: `${desk.tool} has no operation "${order.operation}"` } };
  const conclude = (encoded: Encoded) => report(encoded, order.call, place);
  if (types.isPromise(outcome)) void outcome.then(conclude);
  else conclude(outcome);
}

function report(encoded: Encoded, call: number, { desk, channel }: Place): void {
  const late = channel.stopReason === "timeout" && !encoded.ok;
  channel.end();
  const ending = { call, ...desk.readUsage() };
  if (encoded.ok) desk.post(encodeFrame({ kind: "done", ...ending }, encoded.text));
  else {
    const fault: RunFault = late ? { kind: "timeout" } : encoded.fault;
    desk.post(encodeFrame({ kind: "failed", ...ending, fault }));
  }
}
