import {
  PARTITION_LEASE_MS,
  PARTITIONS,
  PENDING_CHARS,
  type PendingBatch,
  partitionOf,
} from "../ports/outbox.ts";

/** The first batches of the partitions that are held, up to the bounds of a page. */
export function firstBatches(
  batches: Iterable<PendingBatch>,
  { held, limit }: { held: ReadonlySet<number>; limit: number },
): PendingBatch[] {
  const page: PendingBatch[] = [];
  let chars = 0;
  if (limit < 1 || held.size === 0) return page;
  for (const { id, tenant, events } of batches) {
    if (held.size < PARTITIONS && !held.has(partitionOf(tenant))) continue;
    page.push({ id, tenant, events: [...events] });
    for (const { length } of events) chars += length;
    if (page.length >= limit || chars >= PENDING_CHARS) break;
  }
  return page;
}

interface SinkLeases {
  /** When each instance that publishes to the sink counts as gone. */
  expiry: Map<string, number>;
  /** The instance that has each partition. */
  holders: (string | undefined)[];
}

/**
 * Who publishes which partitions, for stores that one process uses at a time: leases need not outlive it. An instance is
 * live while it asks again in time. One that has more than its share gives partitions up when it asks next, between two
 * sends, so that the next holder sends nothing before it.
 */
export class PartitionLeases {
  readonly #sinks = new Map<string, SinkLeases>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts the instance as live for another while; false when it was not live any more. */
  renew(sink: string, instance: string): boolean {
    const { expiry } = this.#sinks.get(sink) ?? {};
    const now = this.#now();
    const isLive = (expiry?.get(instance) ?? now) > now;
    if (isLive) expiry?.set(instance, now + PARTITION_LEASE_MS);
    return isLive;
  }

  /** Renews the instance's leases, takes or gives up what its share asks for, and says what it holds now. */
  hold(sink: string, instance: string): ReadonlySet<number> {
    const leases = this.#sinks.get(sink) ?? { expiry: new Map(), holders: Array(PARTITIONS).fill(undefined) };
    this.#sinks.set(sink, leases);
    const { expiry, holders } = leases;
    const now = this.#now();
    expiry.set(instance, now + PARTITION_LEASE_MS);
    for (const [name, at] of expiry) if (at <= now) expiry.delete(name);
    const share = Math.ceil(PARTITIONS / expiry.size);
    const held = new Set<number>();
    for (const isOwn of [true, false]) {
      for (const [partition, holder] of holders.entries()) {
        const isFree = holder === undefined || !expiry.has(holder);
        if (!(isOwn ? holder === instance : isFree)) continue;
        if (held.size < share) held.add(partition);
        holders[partition] = held.has(partition) ? instance : undefined;
      }
    }
    return held;
  }
}
