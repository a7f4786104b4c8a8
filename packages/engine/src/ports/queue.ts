import type { Priority } from "@sallyport/protocol";

/** A call that was accepted and runs when there is room for it. Nothing of it has run. */
export interface QueuedCall {
  callId: string;
  tenant: string;
  agent: string;
  tool: string;
  priority: Priority;
  queuedAt: number;
}

/**
 * Reads the accepted calls. One is put there by the unit of work that opens it and leaves by the one that begins or
 * closes it.
 */
export interface QueueReader {
  /** In the order they were accepted; after the given call, when one is given. */
  list(page: { after?: string; limit: number }): Promise<QueuedCall[]>;
  /** Everything it takes to run the call; undefined when it is not queued (any more). */
  order(callId: string): Promise<string | undefined>;
}
