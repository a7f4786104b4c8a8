import { genesis, linkAfter } from "@sallyport/engine/chain";
import type { AuditEntry, AuditLink } from "@sallyport/engine/ports";
import type { Statements } from "./statements.ts";

const MAX_CACHED = 10_000;
/** A longer run is written as several rows, so that reading a few units never means reading megabytes. */
const MAX_ROW_CHARS = 256 * 1024;

/** What a transaction adds to one strand. */
interface Added {
  tenant: string;
  head: AuditLink;
  firstSequence: number;
  /** One "hash body" a unit. */
  lines: string[];
  chars: number;
}

/**
 * The newest link of each strand of each tenant, and the units a transaction adds. Heads are read from the table on first
 * use; what is added waits apart until the transaction has committed, so a rollback leaves no trace of it. Units of a
 * strand that are committed together stand in one row: fewer rows and fuller pages make a commit cheaper.
 */
export class ChainHeads {
  readonly #committed = new Map<string, AuditLink>();
  readonly #added = new Map<string, Added>();
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Links the body behind the strand's newest unit; nothing changes yet. */
  link(tenant: string, strand: number, body: string): AuditEntry {
    return linkAfter(this.#head(tenant, strand), body);
  }

  /** Takes a unit that was linked just now. */
  add(tenant: string, { strand, sequence, hash, body }: AuditEntry): void {
    const name = nameOf(tenant, strand);
    const head = { strand, sequence, hash };
    const line = `${hash} ${body}`;
    const added = this.#added.get(name);
    if (!added) {
      this.#added.set(name, { tenant, head, firstSequence: sequence, lines: [line], chars: line.length });
      return;
    }
    added.head = head;
    added.lines.push(line);
    added.chars += line.length;
    if (added.chars > MAX_ROW_CHARS) this.#writeRow(added);
  }

  /** Writes what was added, and the new heads: once per strand, whatever number of units the transaction holds. */
  write(): void {
    for (const added of this.#added.values()) {
      this.#writeRow(added);
      const { strand, sequence, hash } = added.head;
      this.#sql.putHead.run(added.tenant, strand, sequence, hash);
    }
  }

  committed(): void {
    if (this.#committed.size > MAX_CACHED) this.#committed.clear();
    for (const [name, { head }] of this.#added) this.#committed.set(name, head);
    this.#added.clear();
  }

  rolledBack(): void {
    this.#added.clear();
  }

  #writeRow(added: Added): void {
    if (added.lines.length === 0) return;
    const { tenant, head, firstSequence, lines } = added;
    this.#sql.insertAudit.run(tenant, head.strand, firstSequence, head.sequence, lines.join("\n"));
    added.firstSequence = head.sequence + 1;
    added.lines = [];
    added.chars = 0;
  }

  #head(tenant: string, strand: number): AuditLink {
    const name = nameOf(tenant, strand);
    const known = this.#added.get(name)?.head ?? this.#committed.get(name);
    if (known) return known;
    const row = this.#sql.findHead.get(tenant, strand);
    return row ? { strand, sequence: Number(row.sequence), hash: String(row.hash) } : genesis(strand);
  }
}

function nameOf(tenant: string, strand: number): string {
  return strand === 0 ? tenant : `${tenant}\n${strand}`;
}
