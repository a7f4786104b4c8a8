import { failure, SallyportError } from "@sallyport/protocol";
import type {
  BatchJournal,
  ConversationKeeping,
  ConversationRecord,
  Conversations,
  FileRead,
  OpenBatch,
  ReadLedger,
  StreamEntry,
  Turn,
} from "./conversations-port.ts";

/** A copy that went through JSON, as everything does that a disk keeps: neither side can change the other's. */
function copyOf<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value));
}

/** What one store keeps. Every change of it is synchronous, so nothing can come between two halves of a change. */
class Kept {
  readonly records = new Map<string, ConversationRecord>();
  readonly #turns = new Map<string, Turn[]>();
  readonly batches = new Map<string, OpenBatch>();
  /** By conversation and path; also of a conversation that is not kept here. */
  readonly reads = new Map<string, Map<string, FileRead>>();

  add(record: ConversationRecord): void {
    const { conversationId } = record;
    if (this.records.has(conversationId)) {
      throw new RangeError(`There is a conversation ${conversationId} already.`);
    }
    this.records.set(conversationId, copyOf(record));
    this.#turns.set(conversationId, []);
  }

  /** The history itself; throws for an unknown conversation, whose turns would be lost. */
  history(conversationId: string): Turn[] {
    const turns = this.#turns.get(conversationId);
    if (turns) return turns;
    throw new RangeError(`There is no conversation ${conversationId}.`);
  }

  append(conversationId: string, turns: readonly Turn[]): void {
    const history = this.history(conversationId);
    for (const turn of copyOf(turns)) history.push(turn);
  }

  openBatchOf(conversationId: string): OpenBatch | undefined {
    return [...this.batches.values()].find((batch) => batch.conversationId === conversationId);
  }

  /** Of those changed at the same time, the one made last comes first. */
  list({ limit, before = Number.POSITIVE_INFINITY }: { limit: number; before?: number }) {
    return [...this.records.values()]
      .filter(({ updatedAt }) => updatedAt < before)
      .toReversed()
      .toSorted((a, b) => b.updatedAt - a.updatedAt)
      .slice(0, Math.max(0, limit))
      .map(copyOf);
  }

  /** False when there is no such conversation. What an open batch of it held joins no history. */
  forget(conversationId: string): boolean {
    if (!this.records.delete(conversationId)) return false;
    const batch = this.openBatchOf(conversationId);
    if (batch) this.batches.delete(batch.batchId);
    this.#turns.delete(conversationId);
    this.reads.delete(conversationId);
    return true;
  }
}

/** False when the entry does not fit what came before it: a call out of turn, or arguments of a call that is not there. */
function take(batch: OpenBatch, entry: StreamEntry): boolean {
  if (entry.kind === "text") {
    batch.text += entry.delta;
    return true;
  }
  const call = batch.calls[entry.index];
  if (entry.kind === "arguments") {
    if (call) call.arguments += entry.delta;
    return call !== undefined;
  }
  const { index, id, name } = entry;
  return index === batch.calls.length && batch.calls.push({ index, id, name, arguments: "" }) > 0;
}

/**
 * A batch is `streaming` from `open` until `seal`, then `sealed`; `close` ends it from either. Only a streaming one takes
 * entries, only a sealed one takes results.
 */
function journalOver(kept: () => Kept): BatchJournal {
  return {
    async open({ batchId, conversationId, model, at }) {
      const { batches } = kept();
      kept().history(conversationId);
      if (kept().openBatchOf(conversationId)) return false;
      if (batches.has(batchId)) throw new RangeError(`There is a batch ${batchId} already.`);
      const batch = { batchId, conversationId, model, openedAt: at, text: "", calls: [] };
      batches.set(batchId, { ...batch, phase: "streaming" });
      return true;
    },
    async record(batchId, entry) {
      const batch = kept().batches.get(batchId);
      if (batch?.phase !== "streaming" || !take(batch, entry)) {
        throw new RangeError(`The batch ${batchId} cannot take this entry of the stream.`);
      }
    },
    async seal(batchId, { turns, calls }) {
      const batch = kept().batches.get(batchId);
      if (batch?.phase !== "streaming") return false;
      const sealed = new Map(calls.map((call) => [call.index, call]));
      const isWhole = sealed.size === calls.length && calls.length === batch.calls.length;
      if (!isWhole || batch.calls.some(({ index }) => !sealed.has(index))) {
        throw new RangeError(`The batch ${batchId} is sealed with other calls than it has.`);
      }
      kept().append(batch.conversationId, turns);
      for (const call of batch.calls) Object.assign(call, sealed.get(call.index));
      batch.phase = "sealed";
      return true;
    },
    async result(batchId, index, result) {
      const batch = kept().batches.get(batchId);
      const call = batch?.phase === "sealed" ? batch.calls[index] : undefined;
      if (!call || call.result) return false;
      call.result = copyOf(result);
      return true;
    },
    async close(batchId, turns) {
      const batch = kept().batches.get(batchId);
      if (!batch) return false;
      kept().append(batch.conversationId, turns);
      return kept().batches.delete(batchId);
    },
    async openOf(conversationId) {
      const batch = kept().openBatchOf(conversationId);
      return batch && copyOf(batch);
    },
  };
}

function readsOver(kept: () => Kept): ReadLedger {
  return {
    async note(conversationId, read) {
      const { reads } = kept();
      const known = reads.get(conversationId) ?? new Map<string, FileRead>();
      reads.set(conversationId, known.set(read.path, { ...read }));
    },
    async find(conversationId, path) {
      const read = kept().reads.get(conversationId)?.get(path);
      return read && { ...read };
    },
  };
}

function keepingOver(kept: () => Kept): ConversationKeeping {
  return {
    async outlines(page) {
      return kept()
        .list(page)
        .map((record) => ({
          ...record,
          turns: kept().history(record.conversationId).length,
          hasOpenBatch: kept().openBatchOf(record.conversationId) !== undefined,
        }));
    },
    async remove(conversationIds, { openToo = false } = {}) {
      const all = kept();
      return conversationIds.filter((id) => (openToo || !all.openBatchOf(id)) && all.forget(id));
    },
    async compact() {
      kept();
      return 0;
    },
  };
}

/**
 * Conversations that live and die with the process: for tests, for embedding without a disk, and as the reference that
 * others are compared with. Nothing survives `close`.
 */
export function createMemoryConversations(): Conversations {
  let opened: Kept | undefined = new Kept();
  const kept = () => {
    if (!opened) throw new SallyportError(failure("E3914", { message: "The store has been closed." }));
    return opened;
  };
  return {
    create: async (record) => kept().add(record),
    async get(conversationId) {
      const record = kept().records.get(conversationId);
      return record && copyOf(record);
    },
    list: async (page) => kept().list(page),
    async update(conversationId, { at, ...change }) {
      const record = kept().records.get(conversationId);
      if (record) Object.assign(record, copyOf(change), { updatedAt: at });
    },
    turns: async (id) => (kept().records.has(id) ? copyOf(kept().history(id)) : []),
    append: async (conversationId, turns) => kept().append(conversationId, turns),
    journal: journalOver(kept),
    reads: readsOver(kept),
    keeping: keepingOver(kept),
    close: async () => {
      opened = undefined;
    },
  };
}
