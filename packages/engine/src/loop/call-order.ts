import type { JsonValue } from "@sallyport/protocol";
import type { CallRequest } from "../call/house.ts";
import type { BatchAround } from "./around.ts";
import type { LoopTool } from "./loop-tool.ts";

/** The engine's tool behind one of the loop's. */
export function targetOf({ tool, version, operation }: LoopTool) {
  return { tool, ...(version !== undefined && { version }), ...(operation !== undefined && { operation }) };
}

/** A call of a batch as the engine is asked for it. The conversation is the session. */
export function orderOf(
  { tool, input, callId }: { tool: LoopTool; input: JsonValue; callId: string },
  { caller, conversationId, settings, signal }: BatchAround,
): CallRequest {
  const { defaultTimeoutMs } = settings;
  return {
    ...targetOf(tool),
    input,
    callId,
    caller: { ...caller, session: conversationId },
    disclosure: "full",
    signal,
    ...(tool.timeout === "default" && { limits: { timeoutMs: defaultTimeoutMs } }),
  };
}
