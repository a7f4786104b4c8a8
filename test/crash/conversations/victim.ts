import { openSqliteConversations } from "@sallyport/adapters/conversations";
import type { OpenBatch, Turn } from "@sallyport/loop";
import { say } from "../say.ts";
import type { Plan, Report, Step } from "./protocol.ts";
import { takeStep } from "./take-step.ts";

/*
 * A process that journals batches in several conversations until it is killed. What an earlier life left open is finished
 * or discarded first. It reports through a pipe, synchronously: what the harness has read has really happened.
 */

const plan = JSON.parse(process.argv[2] ?? "{}") as Plan;
const conversations = await openSqliteConversations(plan);

async function take(conversationId: string, step: Step): Promise<void> {
  say<Report>({ report: "does", conversationId, step });
  await takeStep(conversations, conversationId, step);
  say<Report>({ report: "did", conversationId });
}

function resultTurn(batchId: string, index: number): Turn {
  return {
    kind: "tool_result",
    id: `${batchId}-${index}`,
    name: "n",
    isError: false,
    content: "r",
    at: index,
  };
}

/** Finishes a sealed batch from where it stands, and discards one that was still coming in. */
async function finish({ batchId, conversationId, phase, calls }: OpenBatch): Promise<void> {
  if (phase === "streaming") return take(conversationId, { do: "close", batchId, turns: [] });
  for (const { index, result } of calls) {
    const given = { isError: false, content: `${batchId} ${index}`, at: index };
    if (!result) await take(conversationId, { do: "result", batchId, index, result: given });
  }
  await take(conversationId, {
    do: "close",
    batchId,
    turns: calls.map(({ index }) => resultTurn(batchId, index)),
  });
}

async function oneBatch(conversationId: string, number: number): Promise<void> {
  const batchId = `${conversationId}/${plan.life}/${number}`;
  const indexes = Array.from({ length: 1 + (number % 3) }, (_, index) => index);
  await take(conversationId, { do: "append", turns: [{ kind: "user", text: batchId, at: number }] });
  await take(conversationId, { do: "open", batchId });
  await take(conversationId, { do: "record", batchId, entry: { kind: "text", delta: "Let me see. \ud83d" } });
  for (const index of indexes) {
    const id = `${batchId}-${index}`;
    await take(conversationId, { do: "record", batchId, entry: { kind: "call", index, id, name: "n" } });
    for (const delta of ['{"path":', `"${"x".repeat(number * 40)}"`, "}"]) {
      await take(conversationId, { do: "record", batchId, entry: { kind: "arguments", index, delta } });
    }
  }
  const turns: Turn[] = indexes.map((index) => ({
    ...{ kind: "tool_use", id: `${batchId}-${index}`, name: "n", arguments: "{}", at: index },
  }));
  const calls = indexes.map((index) => ({ index, arguments: "{}", callId: `${batchId}+${index}` }));
  await take(conversationId, { do: "seal", batchId, turns, calls });
  const open = await conversations.journal.openOf(conversationId);
  if (open) await finish(open);
}

async function live(conversationId: string): Promise<void> {
  if (!(await conversations.get(conversationId))) await take(conversationId, { do: "create" });
  const left = await conversations.journal.openOf(conversationId);
  if (left) await finish(left);
  for (let number = 0; ; number += 1) {
    await oneBatch(conversationId, number);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

say<Report>({ report: "ready" });
await Promise.all(plan.conversationIds.map(live));
