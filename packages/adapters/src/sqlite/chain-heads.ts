import type { AuditLink } from "@sallyport/engine";
import { type LinkedRun, linkRun } from "./audit-chain.ts";
import type { Statements } from "./statements.ts";

const MAX_CACHED = 10_000;

/**
 * The newest link of each tenant's chain. Read from the table on first use; links added in a transaction wait
 * apart until it has committed, so a rollback leaves no trace of them.
 */
export class ChainHeads {
  readonly #committed = new Map<string, AuditLink>();
  readonly #added = new Map<string, AuditLink>();
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Links the bodies behind the tenant's newest event; nothing is written yet. */
  append(tenant: string, bodies: readonly string[]): LinkedRun {
    const run = linkRun(this.#head(tenant), bodies);
    if (bodies.length > 0) this.#added.set(tenant, run.last);
    return run;
  }

  /** Writes the new heads: once per tenant in a transaction, whatever number of units it holds. */
  write(): void {
    for (const [tenant, { sequence, hash }] of this.#added) this.#sql.putHead.run(tenant, sequence, hash);
  }

  committed(): void {
    if (this.#committed.size > MAX_CACHED) this.#committed.clear();
    for (const [tenant, head] of this.#added) this.#committed.set(tenant, head);
    this.#added.clear();
  }

  rolledBack(): void {
    this.#added.clear();
  }

  #head(tenant: string): AuditLink | undefined {
    const known = this.#added.get(tenant) ?? this.#committed.get(tenant);
    if (known) return known;
    const row = this.#sql.findHead.get(tenant);
    return row && { sequence: Number(row.sequence), hash: String(row.hash) };
  }
}
