/** Where an event stands in its tenant's chain. */
export interface AuditLink {
  sequence: number;
  hash: string;
}

/** An event as it is kept: its body in canonical JSON, and its link. */
export interface AuditEntry extends AuditLink {
  body: string;
}

/** Reads the tamper-evident record. Appending happens only through a unit of work. */
export interface AuditReader {
  tenants(): Promise<string[]>;
  /** The newest link of a tenant's chain as the store remembers it beside the events; undefined before the first. */
  head(tenant: string): Promise<AuditLink | undefined>;
  /** In sequence order, after the given sequence, at most `limit`. */
  read(tenant: string, page: { after: number; limit: number }): Promise<AuditEntry[]>;
}
