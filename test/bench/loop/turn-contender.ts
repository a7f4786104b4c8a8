import { mkdirSync } from "node:fs";
import { openSqliteConversations } from "@sallyport/adapters/conversations";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import { ConfiguredAuthority, createEngine, systemClock, uuidV7 } from "@sallyport/engine";
import {
  type AnswerPart,
  asEnginePolicy,
  Conversation,
  DEFAULT_LOOP_SETTINGS,
  loopToolsOf,
  OutputBudgets,
  type PlanningContext,
  planBatch,
} from "@sallyport/loop";
import { isFailure, SallyportError } from "@sallyport/protocol";
import { pure } from "../subject.ts";

const GRANT = {
  id: "bench",
  tenants: ["bench"],
  agents: ["bench"],
  tools: ["bench.*"],
  operations: ["*"],
  capabilities: [],
};

const FINISH: AnswerPart = {
  type: "finish",
  finishReason: { unified: "stop", raw: "stop" },
  usage: {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  },
};
const INPUT = '{"a":2,"b":3}';

/** One whole turn: a scripted model asks for one call, the call passes the door, the model answers. Durable. */
export async function turnContender(folder: string, durability: "process" | "power") {
  mkdirSync(folder, { recursive: true });
  const store = await openSqliteStore({ folder, durability });
  const conversations = await openSqliteConversations({ folder, durability });
  const settings = { ...DEFAULT_LOOP_SETTINGS, mode: "enabled" as const };
  const policies = [
    asEnginePolicy(
      () => settings.policy,
      (tool) => tool,
    ),
  ];
  const engine = await createEngine({
    store,
    authority: new ConfiguredAuthority({ grants: [GRANT], policies }),
  });
  const implementation = { kind: "inline" as const, operations: pure.operations };
  const registered = await engine.tools.register(pure.manifest, { implementation });
  if (isFailure(registered)) throw new SallyportError(registered);
  const tools = loopToolsOf(engine.tools);
  const toolName = tools.find(({ operation }) => operation === "add")?.name ?? "";
  let asked = 0;
  const call: AnswerPart[] = [
    { type: "tool-input-start", id: "c", toolName },
    { type: "tool-input-delta", id: "c", delta: INPUT },
    { type: "tool-input-end", id: "c" },
    { type: "tool-call", toolCallId: "c", toolName, input: INPUT },
    FINISH,
  ];
  const answer: AnswerPart[] = [{ type: "text-delta", id: "t", delta: "It is 5." }, FINISH];
  const parts = {
    engine,
    conversations,
    model: "scripted/one",
    async *startModel() {
      yield* asked++ % 2 === 0 ? call : answer;
    },
    caller: { tenant: "bench", agent: "bench" },
    tools,
    settings,
    outputBudgets: new OutputBudgets(),
    clock: systemClock,
    ids: uuidV7(() => Date.now()),
  };
  const calls = Array.from({ length: 8 }, (_, index) => ({
    index,
    id: `c${index}`,
    name: toolName,
    arguments: INPUT,
  }));
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const { caller } = parts;
  const context = {
    mode: settings.mode,
    settings,
    tools: byName,
    conversationId: "bench",
    iteration: 1,
    engine: {
      plan: (request: Parameters<PlanningContext["engine"]["plan"]>[0]) =>
        engine.plan({ ...request, caller }),
    },
  };
  return {
    /** Plans a batch of eight calls: resolved, validated, authorised, nothing recorded. */
    async plan() {
      const planned = await planBatch(calls, context);
      if (planned.some(({ kind }) => kind !== "execute")) throw new Error(JSON.stringify(planned));
    },
    async turn() {
      const conversation = Conversation.begin(parts, { cwd: folder });
      const end = await conversation.send("What is 2 + 3?");
      if (end.kind !== "done") throw new Error(JSON.stringify(end));
    },
    async close() {
      await engine.close();
      await store.close();
      await conversations.close();
    },
  };
}
