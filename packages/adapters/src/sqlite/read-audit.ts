import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AuditEntry, AuditLink } from "@sallyport/engine";

const LIST_TENANTS = "SELECT tenant_id FROM audit_heads UNION SELECT tenant_id FROM audit ORDER BY tenant_id";

const GET_HEAD = "SELECT sequence, hash FROM audit_heads WHERE tenant_id = ?";

const LIST_RUNS = `SELECT first_sequence, lines FROM audit
  WHERE tenant_id = ? AND last_sequence > ? ORDER BY last_sequence LIMIT ?`;

const HASH_LENGTH = 64;

/** Reads the audit chains. A row holds the events that one commit added to a chain; here they become single entries again. */
export class AuditReads {
  readonly #tenants: StatementSync;
  readonly #head: StatementSync;
  readonly #runs: StatementSync;

  constructor(database: DatabaseSync) {
    this.#tenants = database.prepare(LIST_TENANTS);
    this.#head = database.prepare(GET_HEAD);
    this.#runs = database.prepare(LIST_RUNS);
  }

  tenants(): string[] {
    return this.#tenants.all().map((row) => String(row.tenant_id));
  }

  head(tenant: string): AuditLink | undefined {
    const row = this.#head.get(tenant);
    return row && { sequence: Number(row.sequence), hash: String(row.hash) };
  }

  read(tenant: string, { after, limit }: { after: number; limit: number }): AuditEntry[] {
    const entries: AuditEntry[] = [];
    for (const row of this.#runs.iterate(tenant, after, Math.max(0, limit))) {
      const run = expand(Number(row.first_sequence), String(row.lines));
      entries.push(...run.filter(({ sequence }) => sequence > after));
      if (entries.length >= limit) break;
    }
    return entries.slice(0, limit);
  }
}

function expand(first: number, lines: string): AuditEntry[] {
  return lines.split("\n").map((line, index) => ({
    sequence: first + index,
    hash: line.slice(0, HASH_LENGTH),
    body: line.slice(HASH_LENGTH + 1),
  }));
}
