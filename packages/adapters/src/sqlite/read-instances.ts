import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { InstanceRecord } from "@sallyport/engine/ports";

/** Reads the instances that have a lease, synchronously. */
export class InstanceReads {
  readonly #live: StatementSync;

  constructor(database: DatabaseSync) {
    this.#live = database.prepare("SELECT * FROM instances WHERE expires_at > ? ORDER BY slot");
  }

  list(): InstanceRecord[] {
    return this.#live.all(Date.now()).map((row) => ({
      instance: String(row.instance_id),
      slot: Number(row.slot),
      expiresAt: Number(row.expires_at),
      startedAt: Number(row.started_at),
      about: JSON.parse(String(row.about)),
    }));
  }
}
