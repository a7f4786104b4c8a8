import type { Caller, JsonValue, OnApproval, Priority, ResourceLimits } from "@sallyport/protocol";
import type { TokenClaims } from "../ports/tokens.ts";

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
  onApproval?: OnApproval;
  idempotencyKey?: string;
  /** What its token said; the token itself is not kept. */
  verified?: TokenClaims;
  attempts: number;
  startedAt: number;
}

export function encodeOrder(order: WaitingOrder): string {
  return JSON.stringify(order);
}

export function decodeOrder(text: string): WaitingOrder {
  return JSON.parse(text);
}
