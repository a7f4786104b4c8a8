import type { JsonObject } from "@sallyport/protocol";

/** Tenants are spread over this many partitions; each is published by one instance at a time. */
export const PARTITIONS = 16;

/** The partition of a tenant: FNV-1a over its UTF-8 bytes, the same in every process and version. */
export function partitionOf(tenant: string): number {
  let sum = 0x811c9dc5;
  for (const byte of Buffer.from(tenant)) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
  return sum % PARTITIONS;
}

/** Events of one unit, each a CloudEvent as JSON, for every sink that is named. */
export interface EventBatch {
  sinks: readonly string[];
  events: string[];
}

/** Events of one unit that one sink has not taken yet. */
export interface PendingBatch {
  /** Names the batch within its sink. */
  id: string;
  tenant: string;
  events: string[];
}

/** What one sink has yet to take. A store knows a sink only while something waits for it. */
export interface Backlog {
  sink: string;
  batches: number;
  /** The number is an estimate, because so many wait that counting them would take long. */
  isEstimate?: boolean;
  /** When the oldest was written, about. */
  oldestAt: number;
}

/** A partition that its instance does not ask for within this time can be leased by another. */
export const PARTITION_LEASE_MS = 15_000;

/** A page of batches ends when its events have about this many characters, so that memory stays bounded. */
export const PENDING_CHARS = 4 * 1024 * 1024;

/**
 * Events that must reach every sink at least once. A batch stays until its sink has taken it, whatever its place: commits
 * do not become visible in the order of their positions. The batches of a call are read in the order they were committed.
 */
export interface OutboxReader {
  /**
   * The next batches of the partitions that this instance publishes for the sink, oldest first. Leases partitions that no
   * live instance holds, and gives up those beyond its share (partitions by live instances, rounded up). Fewer than
   * `limit`, but at least one, when they are large. The same ones come again until they are delivered.
   */
  pending(order: { sink: string; instance: string; limit: number }): Promise<PendingBatch[]>;
  /**
   * Keeps the partitions that this instance holds, while it sends what they hold: takes none, and gives none up. Resolves
   * with false when the lease had lapsed, so that another instance may have them.
   */
  renew(order: { sink: string; instance: string }): Promise<boolean>;
  /** The sink has taken these batches. Safe to repeat. */
  delivered(order: { sink: string; ids: readonly string[] }): Promise<void>;
  /** Costs little however much waits. */
  backlogs(): Promise<Backlog[]>;
}

/** A CloudEvents 1.0 event. */
export interface CloudEvent {
  specversion: "1.0";
  id: string;
  type: string;
  source: string;
  time: string;
  datacontenttype: "application/json";
  /** Partition: events of a tenant stay in order. */
  partitionkey: string;
  data: JsonObject;
}

/** An event on its way: a CloudEvent as JSON, and the tenant whose events stay in order. */
export interface OutgoingEvent {
  tenant: string;
  json: string;
}

/** Where published events go. */
export interface EventSink {
  /**
   * Resolves once the events are kept there; a rejection keeps them in the outbox. With an aborted signal nothing more is
   * sent, and what waits for an answer is given up where that can be done.
   */
  send(events: readonly OutgoingEvent[], signal?: AbortSignal): Promise<void>;
  /** Rejects with the reason when nothing could be delivered now. Left out where only sending can tell. */
  check?(): Promise<void>;
  /** Lets go of connections. Nothing is sent afterwards. */
  close?(): Promise<void>;
}
