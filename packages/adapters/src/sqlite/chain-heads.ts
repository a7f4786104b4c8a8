import { GENESIS, linkAfter } from "@sallyport/engine/chain";
import type { AuditLink } from "@sallyport/engine/ports";
import type { Statements } from "./statements.ts";

const MAX_CACHED = 10_000;
/** A longer run is written as several rows, so that reading a few events never means reading megabytes. */
const MAX_ROW_CHARS = 256 * 1024;

/** What a transaction adds to one tenant's chain. */
interface Added {
  head: AuditLink;
  firstSequence: number;
  lines: string[];
  chars: number;
}

/**
 * The newest link of each tenant's chain, and the events a transaction adds. Heads are read from the table on first
 * use; what is added waits apart until the transaction has committed, so a rollback leaves no trace of it. Events that
 * are committed together stand in one row: fewer rows and fuller pages make a commit cheaper.
 */
export class ChainHeads {
  readonly #committed = new Map<string, AuditLink>();
  readonly #added = new Map<string, Added>();
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Links the bodies behind the tenant's newest event; nothing changes yet. */
  link(tenant: string, bodies: readonly string[]): LinkedRun {
    return linkRun(this.#head(tenant), bodies);
  }

  /** Takes a run that was linked just now. */
  add(tenant: string, { firstSequence, last, lines }: LinkedRun): void {
    const added = this.#added.get(tenant);
    if (!added) {
      this.#added.set(tenant, { head: last, firstSequence, lines: [lines], chars: lines.length });
      return;
    }
    added.head = last;
    added.lines.push(lines);
    added.chars += lines.length;
    if (added.chars > MAX_ROW_CHARS) this.#writeRow(tenant, added);
  }

  /** Writes what was added, and the new heads: once per tenant, whatever number of units the transaction holds. */
  write(): void {
    for (const [tenant, added] of this.#added) {
      this.#writeRow(tenant, added);
      this.#sql.putHead.run(tenant, added.head.sequence, added.head.hash);
    }
  }

  committed(): void {
    if (this.#committed.size > MAX_CACHED) this.#committed.clear();
    for (const [tenant, { head }] of this.#added) this.#committed.set(tenant, head);
    this.#added.clear();
  }

  rolledBack(): void {
    this.#added.clear();
  }

  #writeRow(tenant: string, added: Added): void {
    if (added.lines.length === 0) return;
    const { head, firstSequence, lines } = added;
    this.#sql.insertAudit.run(tenant, firstSequence, head.sequence, lines.join("\n"));
    added.firstSequence = head.sequence + 1;
    added.lines = [];
    added.chars = 0;
  }

  #head(tenant: string): AuditLink | undefined {
    const known = this.#added.get(tenant)?.head ?? this.#committed.get(tenant);
    if (known) return known;
    const row = this.#sql.findHead.get(tenant);
    return row && { sequence: Number(row.sequence), hash: String(row.hash) };
  }
}

/** The events of one unit, linked: what the audit table keeps of them, and the link the caller is told. */
interface LinkedRun {
  firstSequence: number;
  last: AuditLink;
  /** One "hash body" a line. */
  lines: string;
}

/** Links the bodies of one unit to the chain's head, in the form a row keeps them. */
function linkRun(head: AuditLink | undefined, bodies: readonly string[]): LinkedRun {
  const start = head ?? GENESIS;
  let last = start;
  let lines = "";
  for (const body of bodies) {
    last = linkAfter(last, body);
    lines += `${lines === "" ? "" : "\n"}${last.hash} ${body}`;
  }
  return { firstSequence: start.sequence + 1, last, lines };
}
