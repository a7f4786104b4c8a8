import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Backlog, PendingBatch } from "@sallyport/engine/ports";
import { firstBatches, PartitionLeases } from "@sallyport/engine/publish";
import { batchId, decodeBatch, splitBatches } from "./outbox-text.ts";
import { placesLeft } from "./write-outbox.ts";

const LIST_DUE = `SELECT position, due.batches, places, outbox.batches AS text
  FROM outbox_due AS due JOIN outbox USING (position) WHERE sink = ? ORDER BY position`;

const LIST_BACKLOGS = `SELECT sink, sum(batches) AS batches, min(written_at) AS oldest_at
  FROM outbox_due GROUP BY sink ORDER BY sink`;

/**
 * Reads the outbox. Partitions are leased in memory: only the process that holds the folder publishes, and its leases end
 * with it.
 */
export class OutboxReads {
  readonly #due: StatementSync;
  readonly #backlogs: StatementSync;
  readonly #leases: PartitionLeases;

  constructor(database: DatabaseSync, now: () => number) {
    this.#due = database.prepare(LIST_DUE);
    this.#backlogs = database.prepare(LIST_BACKLOGS);
    this.#leases = new PartitionLeases(now);
  }

  pending({ sink, instance, limit }: { sink: string; instance: string; limit: number }): PendingBatch[] {
    return firstBatches(this.#batches(sink), { held: this.#leases.hold(sink, instance), limit });
  }

  renew({ sink, instance }: { sink: string; instance: string }): boolean {
    return this.#leases.renew(sink, instance);
  }

  backlogs(): Backlog[] {
    return this.#backlogs.all().map(({ sink, batches, oldest_at }) => ({
      sink: String(sink),
      batches: Number(batches),
      oldestAt: Number(oldest_at),
    }));
  }

  *#batches(sink: string): Generator<PendingBatch> {
    for (const row of this.#due.iterate(sink)) {
      const batches = splitBatches(String(row.text));
      const position = Number(row.position);
      for (const place of placesLeft(row)) {
        yield { id: batchId(position, place), ...decodeBatch(batches[place] ?? "") };
      }
    }
  }
}
