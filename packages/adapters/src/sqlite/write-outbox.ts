import type { OutboxJob } from "./messages.ts";
import { joinBatches, placesOf, sinkNames } from "./outbox-text.ts";
import type { Statements } from "./statements.ts";

/**
 * Writes the outbox. The batches of a transaction stand in one row for each list of sinks, and each sink has a small row
 * that says which of them it has yet to take. Positions start at the time the store was opened and only grow, so that an
 * id never names another batch later. Those of a rolled-back transaction are given again.
 */
export class OutboxWriter {
  readonly #sql: Statements;
  readonly #packed = new Map<string, string[]>();
  #committed: number;
  #last: number;

  constructor(sql: Statements) {
    this.#sql = sql;
    this.#committed = Math.max(Date.now(), Number(sql.lastPosition.get()?.position ?? 0));
    this.#last = this.#committed;
  }

  append([sinks, batch]: OutboxJob): void {
    const packed = this.#packed.get(sinks);
    if (packed) packed.push(batch);
    else this.#packed.set(sinks, [batch]);
  }

  write(): void {
    for (const [sinks, batches] of this.#packed) {
      this.#last += 1;
      this.#sql.insertOutbox.run(this.#last, sinks, joinBatches(batches));
      const due = [this.#last, Date.now(), batches.length];
      for (const sink of sinkNames(sinks)) this.#sql.insertDue.run(sink, ...due);
    }
    this.#packed.clear();
  }

  /** A batch that is not there any more, or never was, is passed over. */
  delivered(sink: string, ids: readonly string[]): void {
    for (const [position, taken] of placesOf(ids)) {
      const due = this.#sql.findDue.get(sink, position);
      if (!due) continue;
      const left = placesLeft(due).filter((place) => !taken.has(place));
      if (left.length > 0) this.#sql.shortenDue.run(left.length, left.join(), sink, position);
      else this.#finish(sink, position);
    }
  }

  committed(): void {
    this.#committed = this.#last;
  }

  rolledBack(): void {
    this.#packed.clear();
    this.#last = this.#committed;
  }

  /** The sink has everything of the row. The row goes with the last of its sinks. */
  #finish(sink: string, position: number): void {
    this.#sql.deleteDue.run(sink, position);
    const others = sinkNames(String(this.#sql.findSinks.get(position)?.sinks ?? ""));
    if (others.some((other) => this.#sql.findDue.get(other, position))) return;
    this.#sql.deleteOutbox.run(position);
  }
}

/** The places of the batches that a sink has not taken. */
export function placesLeft({ batches, places }: Record<string, unknown>): number[] {
  if (typeof places === "string") return places.split(",").map(Number);
  return Array.from({ length: Number(batches) }, (_, place) => place);
}
