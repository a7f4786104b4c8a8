import type { JsonValue } from "@sallyport/protocol";
import type { CallRequest } from "../context.ts";
import type { Decision, TokenClaims } from "../ports/authority.ts";
import type { RunUsage, SandboxReport } from "../ports/runner.ts";
import type { StateWrites } from "../ports/state.ts";
import type { ResolvedTool } from "../registry/index.ts";

/** A call that was run for a preview: its result and its changes are kept, and approval commits exactly those. */
export interface PreviewedRun {
  /** The name its file changes are kept under; left out when it changed no files. */
  files?: string;
  /** Over every change that was shown. */
  digest: string;
  output: JsonValue;
  state?: StateWrites;
  usage: RunUsage;
  sandbox?: SandboxReport;
}

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

interface Suspending {
  request: CallRequest;
  waits: { verified?: TokenClaims | undefined } | undefined;
}

interface Known {
  progress: {
    startedAt: number;
    decision?: Pick<Decision, "token"> | undefined;
    held?: PreviewedRun | undefined;
  };
  tool: ResolvedTool;
  input: JsonValue;
  attempts: number;
}

/** The call as it can be run later, by this process or the next. */
export function encodeOrder(
  { request, waits }: Suspending,
  { progress: { startedAt, decision, held }, tool, input, attempts }: Known,
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
