import { randomUUID } from "node:crypto";
import type { Priority, ToolInvokeRequest } from "@sallyport/protocol";
import { TENANT } from "./load-config.ts";

export type Tool = "look" | "count" | "pay" | "slow";

/** One call that a caller wants made, however often it has to ask for it. */
export interface Order {
  key: string;
  agent: string;
  tool: Tool;
  isAsync: boolean;
  /** What makes asking again safe: nothing, a key in the header or in the body, or an id of the caller's choice. */
  named: "not" | "header" | "body" | "id";
  id: string;
  priority: Priority;
  ms: number;
}

const TOOLS: readonly Tool[] = [
  ...Array<Tool>(10).fill("look"),
  ...Array<Tool>(8).fill("count"),
  ...Array<Tool>(8).fill("pay"),
  "slow",
];
const NAMES: readonly Order["named"][] = ["header", "body", "id"];
const PRIORITIES: readonly Priority[] = ["low", "normal", "normal", "high"];

function pick<Value>(from: readonly [Value, ...Value[]] | readonly Value[], random: () => number): Value {
  const found = from[Math.floor(random() * from.length)];
  if (found === undefined) throw new Error("there is nothing to pick from");
  return found;
}

/** The next order of a caller, by its own random numbers. */
export function nextOrder(key: string, agent: string, random: () => number): Order {
  const tool = pick(TOOLS, random);
  const isAsync = random() < 0.35;
  // Whoever wants something done outside makes sure that it can ask again.
  const mayBeUnnamed = !isAsync && (tool === "look" || tool === "count");
  const named = mayBeUnnamed && random() < 0.6 ? "not" : pick(NAMES, random);
  const ms = 50 + Math.floor(random() * 250);
  return { key, agent, tool, isAsync, named, id: randomUUID(), priority: pick(PRIORITIES, random), ms };
}

/** The order as it goes over the wire: the same bytes each time. */
export function requestOf(
  { key, agent, tool, isAsync, named, id, priority, ms }: Order,
  witness: string,
): { body: ToolInvokeRequest; headers: Record<string, string> } {
  const isOutside = tool === "pay" || tool === "slow";
  const body: ToolInvokeRequest = {
    tool_id: tool,
    agent_context: { tenant_id: TENANT, agent_did: agent },
    parameters: isOutside ? { key, witness, ms } : { key, counter: agent },
    ...(named === "id" && { invocation_id: id }),
    execution_options: { async_mode: isAsync, priority, ...(named === "body" && { idempotency_key: key }) },
  };
  return { body, headers: named === "header" ? { "idempotency-key": key } : {} };
}
