import type { GrantRecord, GrantUse, GrantWrite } from "../../ports/grants.ts";
import type { Conflict } from "../../ports/store.ts";
import { firstStale, type RevisedWrite, requireNextRevision } from "./revisions.ts";

interface KeptGrant {
  revision: number;
  /** The record as text, so that nobody who holds the object can change it. */
  text: string;
  uses: number;
  lastUsedAt: number | undefined;
}

/** A write whose record is text already, so that writing it cannot fail half way. */
export interface PreparedGrant extends RevisedWrite {
  kept: KeptGrant;
}

/** Grants in the order they were issued. A use is counted apart from the record, so it never makes a writer's revision old. */
export class MemoryGrants {
  readonly #grants = new Map<string, KeptGrant>();

  check(writes: readonly PreparedGrant[]): Conflict | undefined {
    const grantId = firstStale(writes, (id) => this.#grants.get(id)?.revision);
    return grantId === undefined ? undefined : { kind: "grant", grantId };
  }

  /** The counts of a grant that is there already stay as they are. */
  put({ id, kept }: PreparedGrant): void {
    const { uses, lastUsedAt } = this.#grants.get(id) ?? kept;
    this.#grants.set(id, { ...kept, uses, lastUsedAt });
  }

  count({ grantId, at }: GrantUse): void {
    const kept = this.#grants.get(grantId);
    if (kept === undefined) return;
    kept.uses += 1;
    kept.lastUsedAt = Math.max(kept.lastUsedAt ?? at, at);
  }

  get(grantId: string): GrantRecord | undefined {
    const kept = this.#grants.get(grantId);
    return kept && recordOf(kept);
  }

  all(): GrantRecord[] {
    return [...this.#grants.values()].map(recordOf);
  }
}

/** Throws when the record is not JSON or does not follow the revision it expects; nothing has been written then. */
export function prepareGrant({ record, expect }: GrantWrite): PreparedGrant {
  const { grantId, revision, uses, lastUsedAt } = record;
  const write = {
    id: grantId,
    revision,
    expect,
    kept: { revision, text: JSON.stringify(record), uses, lastUsedAt },
  };
  requireNextRevision(write);
  return write;
}

function recordOf({ text, uses, lastUsedAt }: KeptGrant): GrantRecord {
  const record: GrantRecord = JSON.parse(text);
  record.uses = uses;
  if (lastUsedAt !== undefined) record.lastUsedAt = lastUsedAt;
  else delete record.lastUsedAt;
  return record;
}
