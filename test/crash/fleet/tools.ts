import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool, type ToolContext } from "@sallyport/engine/tool";

/* Tools whose effects an outsider can count: a line in a file that all replicas share, a counter, a file of its own. */

const ANY = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
const common = { version: "1.0.0", description: "For the fleet.", input: ANY, output: ANY };

type Order = { key: string; witness: string; ms: number };

/** For whoever looks from outside: which process did what of which call. */
function witnessed(what: "began" | "paid", { key, witness }: Order, { callId }: ToolContext): void {
  appendFileSync(witness, `${JSON.stringify({ what, key, callId, pid: process.pid })}\n`);
}

async function pay(order: Order, context: ToolContext) {
  const { key, ms } = order;
  const { signal } = context;
  witnessed("began", order, context);
  await sleep(ms, undefined, { signal });
  // A process that was stopped for longer than its lease learns of it when it runs again: nothing may happen before.
  signal.throwIfAborted();
  witnessed("paid", order, context);
  await sleep(ms / 2);
  return { paid: key };
}

/** Changes the world outside, at once and for good. */
export const payment = defineTool({ ...common, id: "pay", sideEffects: "external", run: pay });

/** The same, after a person has agreed. */
export const transfer = defineTool({
  ...common,
  id: "transfer",
  sideEffects: "external",
  requiresApproval: true,
  run: pay,
});

/** Changes state only. */
export const count = defineTool({
  ...common,
  id: "count",
  sideEffects: "state",
  requiredCapabilities: ["state.read", "state.write"],
  run: async (order: Order & { counter: string }, context: ToolContext) => {
    const { counter, ms } = order;
    const { state } = context;
    witnessed("began", order, context);
    const next = Number((await state.get(counter)) ?? 0) + 1;
    await sleep(ms);
    await state.put(counter, next);
    return { value: next };
  },
});

/** Writes a file of its own in the workspace of the replica it runs on. */
export const note = defineTool({
  ...common,
  id: "note",
  sideEffects: "state",
  requiredCapabilities: ["filesystem.read", "filesystem.write"],
  permissions: { filesystem: [{ path: "notes", mode: "rw" }], network: [], credentials: [] },
  run: async (order: Order, context: ToolContext) => {
    const { key, ms } = order;
    const { files, callId } = context;
    witnessed("began", order, context);
    await files.write(`${key}.txt`, callId);
    await sleep(ms);
    return { noted: key };
  },
});
