import type { GrantUse } from "./messages.ts";
import type { Statements } from "./statements.ts";

interface Counted {
  uses: number;
  lastUsedAt: number;
}

/**
 * The uses of grants that a transaction counts: most units of a batch use the same few grants, so each is written once
 * for all of them. Whoever writes a grant writes these first, so that a use counts only what was there before it.
 */
export class GrantCounts {
  readonly #counted = new Map<string, Counted>();
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  add(uses: readonly GrantUse[]): void {
    for (const [grantId, at] of uses) {
      const counted = this.#counted.get(grantId);
      if (!counted) this.#counted.set(grantId, { uses: 1, lastUsedAt: at });
      else {
        counted.uses += 1;
        counted.lastUsedAt = Math.max(counted.lastUsedAt, at);
      }
    }
  }

  /** Grants that are not there are passed over. */
  write(): void {
    for (const [grantId, { uses, lastUsedAt }] of this.#counted) {
      this.#sql.countUses.run(grantId, uses, lastUsedAt);
    }
    this.#counted.clear();
  }

  rolledBack(): void {
    this.#counted.clear();
  }
}
