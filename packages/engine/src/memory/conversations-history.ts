import type {
  ConversationRecord,
  Conversations,
  FileRead,
  ReadLedger,
  Turn,
} from "../ports/conversations.ts";

/** A copy that went through JSON, as everything does that a disk keeps: neither side can change the other's. */
export function copyOf<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value));
}

/** Conversations and their histories, synchronously. */
export class MemoryHistory {
  readonly #records = new Map<string, ConversationRecord>();
  readonly #turns = new Map<string, Turn[]>();

  create(record: ConversationRecord): void {
    const { conversationId } = record;
    if (this.#records.has(conversationId)) {
      throw new RangeError(`There is a conversation ${conversationId} already.`);
    }
    this.#records.set(conversationId, copyOf(record));
    this.#turns.set(conversationId, []);
  }

  get(conversationId: string): ConversationRecord | undefined {
    const record = this.#records.get(conversationId);
    return record && { ...record };
  }

  /** Of those changed at the same time, the one made last comes first. */
  list({ limit, before = Number.POSITIVE_INFINITY }: { limit: number; before?: number }) {
    return [...this.#records.values()]
      .filter(({ updatedAt }) => updatedAt < before)
      .toReversed()
      .toSorted((a, b) => b.updatedAt - a.updatedAt)
      .slice(0, Math.max(0, limit))
      .map((record) => ({ ...record }));
  }

  update(conversationId: string, change: Parameters<Conversations["update"]>[1]): void {
    const record = this.#records.get(conversationId);
    if (!record) return;
    const { model = record.model, cwd = record.cwd, title = record.title, at } = change;
    this.#records.set(conversationId, { ...record, model, cwd, title, updatedAt: at });
  }

  turns(conversationId: string): Turn[] {
    return copyOf(this.#turns.get(conversationId) ?? []);
  }

  append(conversationId: string, turns: readonly Turn[]): void {
    const history = this.require(conversationId);
    for (const turn of copyOf(turns)) history.push(turn);
  }

  /** False when there is no such conversation. */
  forget(conversationId: string): boolean {
    this.#turns.delete(conversationId);
    return this.#records.delete(conversationId);
  }

  /** The history itself; throws for an unknown conversation, whose turns would be lost. */
  require(conversationId: string): Turn[] {
    const turns = this.#turns.get(conversationId);
    if (turns) return turns;
    throw new RangeError(`There is no conversation ${conversationId}.`);
  }
}

/** What was read, by conversation and path; also of a conversation that is not kept here. */
export class MemoryReads {
  readonly #reads = new Map<string, Map<string, FileRead>>();

  note(...[conversationId, read]: Parameters<ReadLedger["note"]>): void {
    const known = this.#reads.get(conversationId) ?? new Map<string, FileRead>();
    this.#reads.set(conversationId, known.set(read.path, { ...read }));
  }

  find(conversationId: string, path: string): FileRead | undefined {
    const read = this.#reads.get(conversationId)?.get(path);
    return read && { ...read };
  }

  forget(conversationId: string): void {
    this.#reads.delete(conversationId);
  }
}
