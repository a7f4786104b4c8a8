import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Revocation } from "@sallyport/engine";

/** Reads the revoked tokens, in the order they were revoked. */
export class RevocationReads {
  readonly #all: StatementSync;

  constructor(database: DatabaseSync) {
    this.#all = database.prepare("SELECT record FROM token_revocations ORDER BY position");
  }

  all(): Revocation[] {
    return this.#all.all().map(({ record }): Revocation => JSON.parse(String(record)));
  }
}
