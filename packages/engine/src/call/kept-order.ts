import { defined, type JsonValue } from "@sallyport/protocol";
import type { WaitingOrder } from "../approve/order.ts";
import type { ResolvedTool } from "../registry/index.ts";
import type { Attempt } from "./attempt.ts";

interface Kept {
  attempt: Attempt;
  tool: ResolvedTool;
  input: JsonValue;
  /** Executions made so far. */
  attempts: number;
}

/** The call as it can be run later, by this process or the next. Of its token only what it said is kept. */
export function orderOf({ attempt, tool, input, attempts }: Kept): WaitingOrder {
  const { request, facts, waits, held, startedAt } = attempt;
  const { priority, limits, onApproval, callbackUrl, trace, idempotencyKey } = request;
  const verified = facts.decision?.token ?? waits?.verified;
  return {
    tool: tool.manifest.id,
    version: tool.manifest.version,
    operation: tool.operationName,
    input,
    caller: request.caller,
    ...defined({ priority, limits, onApproval, callbackUrl, trace, idempotencyKey, verified, held }),
    ...(request.requireApproval && { requireApproval: true }),
    ...(request.dryRun && { dryRun: true }),
    ...(request.preview && { preview: true }),
    ...(request.asyncMode && { asyncMode: true }),
    ...((request.unattended || request.asyncMode) && { unattended: true }),
    attempts,
    startedAt,
  };
}
