import { GENESIS, linkAll } from "../../audit/chain.ts";
import type { AuditEntry, AuditLink } from "../../ports/audit-log.ts";

interface Chain {
  head: AuditLink;
  entries: AuditEntry[];
}

/** One chain per tenant. With a bound, the oldest entries go and the chain then starts later than 1. */
export class MemoryAudit {
  readonly #chains = new Map<string, Chain>();
  readonly #maxEntries: number;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  append(tenant: string, bodies: readonly string[]): AuditLink[] {
    if (bodies.length === 0) return [];
    const chain = this.#chains.get(tenant) ?? { head: GENESIS, entries: [] };
    const added = linkAll(chain.head, bodies);
    const links = added.map(({ sequence, hash }) => ({ sequence, hash }));
    chain.entries.push(...added);
    chain.head = links.at(-1) ?? chain.head;
    this.#chains.set(tenant, chain);
    this.#trim(chain);
    return links;
  }

  tenants(): string[] {
    return [...this.#chains.keys()].sort();
  }

  head(tenant: string): AuditLink | undefined {
    const chain = this.#chains.get(tenant);
    return chain && { ...chain.head };
  }

  read(tenant: string, { after, limit }: { after: number; limit: number }): AuditEntry[] {
    const entries = this.#chains.get(tenant)?.entries ?? [];
    const first = entries[0]?.sequence ?? 1;
    const from = Math.max(0, after - first + 1);
    return entries.slice(from, from + limit).map((entry) => ({ ...entry }));
  }

  #trim(chain: Chain): void {
    if (chain.entries.length > this.#maxEntries * 1.1) chain.entries = chain.entries.slice(-this.#maxEntries);
  }
}
