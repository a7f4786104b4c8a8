import type { Caller, JsonValue, OnApproval, Priority, ResourceLimits } from "@sallyport/protocol";
import type { RunUsage, SandboxReport } from "../ports/runner.ts";
import type { StateWrites } from "../ports/state.ts";
import type { TokenClaims } from "../ports/tokens.ts";
import type { TraceContext } from "../ports/trace.ts";

/** A call that was tried out: what it gave and changed is kept, and approval commits exactly that. */
export interface HeldRun {
  /** What its changes are kept under; left out when it changed no files. */
  files?: string;
  /** Over every change that was shown. */
  digest: string;
  output: JsonValue;
  state?: StateWrites;
  usage: RunUsage;
  sandbox?: SandboxReport;
}

/** A call that waits, with everything it takes to run it later. Kept only while it may still run. */
export interface WaitingOrder {
  tool: string;
  version: string;
  operation: string;
  input: JsonValue;
  caller: Caller;
  priority?: Priority;
  limits?: Partial<ResourceLimits>;
  requireApproval?: boolean;
  dryRun?: boolean;
  preview?: boolean;
  onApproval?: OnApproval;
  asyncMode?: boolean;
  /** Goes on by itself once it may. */
  unattended?: boolean;
  callbackUrl?: string;
  trace?: TraceContext;
  idempotencyKey?: string;
  /** What its token said; the token itself is not kept. */
  verified?: TokenClaims;
  /** Set when it was tried out before the question. */
  held?: HeldRun;
  attempts: number;
  startedAt: number;
}

export function encodeOrder(order: WaitingOrder): string {
  return JSON.stringify(order);
}

export function decodeOrder(text: string): WaitingOrder {
  return JSON.parse(text);
}
