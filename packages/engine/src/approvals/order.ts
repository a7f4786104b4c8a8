import type { JsonValue } from "@sallyport/protocol";
import type { CallRequest } from "../context.ts";
import type { PreviewedRun, Progress } from "../journal/progress.ts";
import type { Attempt } from "../passage/attempt.ts";
import type { TokenClaims } from "../ports/authority.ts";
import type { ResolvedTool } from "../registry/index.ts";

/** What is kept of a request. Of its token only what it said is kept, in the order. */
const KEPT = [
  "tool",
  "caller",
  "priority",
  "limits",
  "permissions",
  "requireApproval",
  "dryRun",
  "preview",
  "onApproval",
  "asyncMode",
  "unattended",
  "callbackUrl",
  "trace",
  "idempotencyKey",
] as const satisfies (keyof CallRequest)[];

/** A call that is queued or waits for a person, with everything it takes to run it later. Kept only while it may run. */
export interface WaitingOrder extends Pick<CallRequest, (typeof KEPT)[number]> {
  version: string;
  operation: string;
  input: JsonValue;
  verified?: TokenClaims;
  /** Set when it was run for a preview. */
  held?: PreviewedRun;
  /** Executions made so far. */
  attempts: number;
  startedAt: number;
}

interface Suspended {
  progress: Progress;
  tool: ResolvedTool;
  input: JsonValue;
  attempts: number;
}

/** The call as it can be run later, by this process or the next. */
export function encodeOrder(
  { request, waits }: Attempt,
  { progress: { startedAt, decision, held }, tool, input, attempts }: Suspended,
): string {
  // Members that are undefined are left out of the text.
  return JSON.stringify({
    ...Object.fromEntries(KEPT.map((name) => [name, request[name]])),
    tool: tool.manifest.id,
    version: tool.manifest.version,
    operation: tool.operationName,
    input,
    verified: decision?.token ?? waits?.verified,
    held,
    unattended: request.unattended || request.asyncMode || undefined,
    attempts,
    startedAt,
  });
}

export function decodeOrder(text: string): WaitingOrder {
  return JSON.parse(text);
}
