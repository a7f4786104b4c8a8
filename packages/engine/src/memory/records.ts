import type { RecordReader, RecordWrite, StoredRecord } from "../ports/records.ts";
import { byCodePoint } from "../ports/state.ts";
import type { Conflict, UnitOfWork } from "../ports/store.ts";

/** Records by kind and id. Those that have expired go with the next write of their kind. */
export class MemoryRecords {
  readonly #kinds = new Map<string, Map<string, StoredRecord>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  readonly reader: RecordReader = {
    get: async (kind, id) => structuredClone(this.#live(kind, id)),
    list: async (kind, { after, limit }) => {
      const ids = [...(this.#kinds.get(kind)?.keys() ?? [])].filter(
        (id) => this.#live(kind, id) && (after === undefined || byCodePoint(id, after) > 0),
      );
      const page = ids.sort(byCodePoint).slice(0, Math.max(0, limit));
      return page.flatMap((id) => structuredClone(this.#live(kind, id) ?? []));
    },
  };

  /** Each write is taken to follow those before it. */
  conflict({ records = [] }: UnitOfWork): Conflict | undefined {
    const written = new Map<string, number>();
    for (const write of records) {
      const { kind, id, body, expect } = write;
      const name = JSON.stringify([kind, id]);
      const revision = written.get(name) ?? this.#live(kind, id)?.revision ?? 0;
      if (expect !== undefined && expect !== revision) return { kind: "record", of: kind, id };
      written.set(name, body === null ? 0 : revision + 1);
    }
    return undefined;
  }

  write({ records = [] }: UnitOfWork): void {
    for (const { kind } of records) this.#sweep(kind);
    for (const write of records) this.#put(write);
  }

  #put({ kind, id, body, expiresAt }: RecordWrite): void {
    const ofKind = this.#kinds.get(kind) ?? new Map<string, StoredRecord>();
    this.#kinds.set(kind, ofKind);
    if (body === null) {
      ofKind.delete(id);
      return;
    }
    const revision = (this.#live(kind, id)?.revision ?? 0) + 1;
    ofKind.set(id, { kind, id, body, revision, ...(expiresAt !== undefined && { expiresAt }) });
  }

  #live(kind: string, id: string): StoredRecord | undefined {
    const found = this.#kinds.get(kind)?.get(id);
    return found && (found.expiresAt ?? Infinity) > this.#now() ? found : undefined;
  }

  #sweep(kind: string): void {
    const ofKind = this.#kinds.get(kind);
    for (const id of ofKind?.keys() ?? []) if (!this.#live(kind, id)) ofKind?.delete(id);
  }
}
