import type { Statements } from "./statements.ts";

/**
 * Gives out positions in the outbox; those of a rolled-back transaction are given again. Messages that are committed
 * together stand in one row.
 */
export class OutboxPositions {
  #committed: number;
  #last: number;
  #lines: string[] = [];
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
    this.#committed = Number(sql.lastPosition.get()?.position ?? 0);
    this.#last = this.#committed;
  }

  append(lines: readonly string[]): void {
    this.#last += lines.length;
    this.#lines.push(...lines);
  }

  write(): void {
    if (this.#lines.length === 0) return;
    this.#sql.insertOutbox.run(this.#last, this.#lines.join("\n"));
    this.#lines = [];
  }

  /** Forgets whole rows up to the position, and the beginning of the row it falls into. */
  delivered(position: number): void {
    this.write();
    this.#sql.deleteDelivered.run(position);
    const row = this.#sql.firstOutbox.get();
    if (!row) return;
    const lines = String(row.lines).split("\n");
    const last = Number(row.last_position);
    const left = Math.min(lines.length, Math.max(0, last - position));
    if (left < lines.length) this.#sql.shortenOutbox.run(lines.slice(lines.length - left).join("\n"), last);
  }

  committed(): void {
    this.#committed = this.#last;
  }

  rolledBack(): void {
    this.#lines = [];
    this.#last = this.#committed;
  }
}
