import type { Backlog, OutboxReader, PendingBatch } from "../ports/outbox.ts";
import type { UnitOfWork } from "../ports/store.ts";
import { firstBatches, PartitionLeases } from "../publish/index.ts";

interface KeptBatch extends PendingBatch {
  writtenAt: number;
}

/** Batches by sink, in the order they came. */
export class MemoryOutbox {
  readonly #sinks = new Map<string, Map<string, KeptBatch>>();
  readonly #leases: PartitionLeases;
  readonly #now: () => number;
  #written = 0;

  readonly reader: OutboxReader = {
    pending: async ({ sink, instance, limit }) => {
      const held = this.#leases.hold(sink, instance);
      return firstBatches(this.#sinks.get(sink)?.values() ?? [], { held, limit });
    },
    renew: async ({ sink, instance }) => this.#leases.renew(sink, instance),
    delivered: async ({ sink, ids }) => {
      const kept = this.#sinks.get(sink);
      for (const id of ids) kept?.delete(id);
    },
    backlogs: async () => [...this.#sinks].flatMap(([sink, kept]) => backlogOf(sink, [...kept.values()])),
  };

  constructor(now: () => number) {
    this.#now = now;
    this.#leases = new PartitionLeases(now);
  }

  write({ tenant, outbox }: UnitOfWork): void {
    if (!outbox || outbox.events.length === 0) return;
    this.#written += 1;
    const batch = { id: `${this.#written}`, tenant, events: [...outbox.events], writtenAt: this.#now() };
    for (const sink of outbox.sinks) {
      const kept = this.#sinks.get(sink) ?? new Map();
      this.#sinks.set(sink, kept.set(batch.id, batch));
    }
  }
}

function backlogOf(sink: string, kept: readonly KeptBatch[]): Backlog[] {
  const [oldest] = kept;
  return oldest ? [{ sink, batches: kept.length, oldestAt: oldest.writtenAt }] : [];
}
