/** A message that must reach the event sink at least once; built from the journal when it is sent. */
export interface OutboxMessage {
  callId: string;
  type: OutboxType;
}

export type OutboxType = "tool.invoked" | "tool.succeeded" | "tool.failed" | "tool.timeout";

export interface PendingMessage extends OutboxMessage {
  position: number;
}

export interface OutboxReader {
  /** Oldest first. */
  pending(limit: number): Promise<PendingMessage[]>;
  /** Forgets every message up to and including this position; they have been delivered. */
  delivered(position: number): Promise<void>;
}
