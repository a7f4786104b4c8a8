import { failure, SallyportError } from "@sallyport/protocol";
import type {
  BatchJournal,
  BatchResult,
  ConversationOutline,
  ConversationRecord,
  Conversations,
  FileRead,
  JournaledCall,
  OpenBatch,
  ReadLedger,
  StreamEntry,
  Turn,
} from "./conversations-port.ts";

/** A copy that went through JSON, as everything does that a disk keeps: neither side can change the other's. */
function copyOf<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value));
}

/** Conversations and their histories, synchronously. */
class MemoryHistory {
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
class MemoryReads {
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

type Opening = Parameters<BatchJournal["open"]>[0];
type Sealing = Parameters<BatchJournal["seal"]>[1];

/**
 * Open batches, synchronously. A batch is `streaming` from `open` until `seal`, then `sealed`; `close` ends it from
 * either. Only a streaming one takes entries, only a sealed one takes results.
 */
class MemoryJournal {
  readonly #history: MemoryHistory;
  readonly #batches = new Map<string, OpenBatch>();

  constructor(history: MemoryHistory) {
    this.#history = history;
  }

  open({ batchId, conversationId, model, at }: Opening): boolean {
    this.#history.require(conversationId);
    if (this.#of(conversationId)) return false;
    if (this.#batches.has(batchId)) throw new RangeError(`There is a batch ${batchId} already.`);
    const batch = { batchId, conversationId, model, openedAt: at, text: "", calls: [] };
    this.#batches.set(batchId, { ...batch, phase: "streaming" });
    return true;
  }

  record(batchId: string, entry: StreamEntry): void {
    const batch = this.#batches.get(batchId);
    if (batch?.phase !== "streaming" || !take(batch, entry)) {
      throw new RangeError(`The batch ${batchId} cannot take this entry of the stream.`);
    }
  }

  seal(batchId: string, { turns, calls }: Sealing): boolean {
    const batch = this.#batches.get(batchId);
    if (batch?.phase !== "streaming") return false;
    const sealed = new Map(calls.map((call) => [call.index, call]));
    const isWhole = sealed.size === calls.length && calls.length === batch.calls.length;
    if (!isWhole || batch.calls.some(({ index }) => !sealed.has(index))) {
      throw new RangeError(`The batch ${batchId} is sealed with other calls than it has.`);
    }
    this.#history.append(batch.conversationId, turns);
    const complete = batch.calls.map((call) => ({ ...call, ...sealed.get(call.index) }));
    this.#batches.set(batchId, { ...batch, phase: "sealed", calls: complete });
    return true;
  }

  result(batchId: string, index: number, result: BatchResult): boolean {
    const batch = this.#batches.get(batchId);
    const call = batch?.phase === "sealed" ? batch.calls.find((one) => one.index === index) : undefined;
    if (!call || call.result) return false;
    call.result = copyOf(result);
    return true;
  }

  close(batchId: string, turns: Turn[]): boolean {
    const batch = this.#batches.get(batchId);
    if (!batch) return false;
    this.#history.append(batch.conversationId, turns);
    return this.#batches.delete(batchId);
  }

  openOf(conversationId: string): OpenBatch | undefined {
    const batch = this.#of(conversationId);
    return batch && copyOf(batch);
  }

  has(conversationId: string): boolean {
    return this.#of(conversationId) !== undefined;
  }

  /** The batch goes, and what it held joins no history. */
  forget(conversationId: string): void {
    const batch = this.#of(conversationId);
    if (batch) this.#batches.delete(batch.batchId);
  }

  #of(conversationId: string): OpenBatch | undefined {
    return [...this.#batches.values()].find((batch) => batch.conversationId === conversationId);
  }
}

/** False when the entry does not fit what came before it: a call out of turn, or arguments of a call that is not there. */
function take(batch: OpenBatch, entry: StreamEntry): boolean {
  if (entry.kind === "text") batch.text += entry.delta;
  else if (entry.kind === "call") return begin(batch.calls, entry);
  else return extend(batch.calls[entry.index], entry.delta);
  return true;
}

function begin(calls: JournaledCall[], { index, id, name }: StreamEntry & { kind: "call" }): boolean {
  if (index !== calls.length) return false;
  calls.push({ index, id, name, arguments: "" });
  return true;
}

function extend(call: JournaledCall | undefined, delta: string): boolean {
  if (!call) return false;
  call.arguments += delta;
  return true;
}

interface Parts {
  history: MemoryHistory;
  journal: MemoryJournal;
  reads: MemoryReads;
}

/** Looks over the conversations and forgets them, synchronously. */
class MemoryKeeping {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  outlines(page: { limit: number; before?: number }): ConversationOutline[] {
    const { history, journal } = this.#parts;
    return history.list(page).map((record) => ({
      ...record,
      turns: history.require(record.conversationId).length,
      hasOpenBatch: journal.has(record.conversationId),
    }));
  }

  remove(conversationIds: readonly string[], { openToo = false }: { openToo?: boolean } = {}): string[] {
    const { history, journal, reads } = this.#parts;
    return conversationIds.filter((id) => {
      if ((journal.has(id) && !openToo) || !history.forget(id)) return false;
      journal.forget(id);
      reads.forget(id);
      return true;
    });
  }
}

/**
 * Conversations that live and die with the process: for tests, for embedding without a disk, and as the reference that
 * others are compared with. Nothing survives `close`.
 */
export function createMemoryConversations(): Conversations {
  let isClosed = false;
  const history = new MemoryHistory();
  const journal = new MemoryJournal(history);
  const reads = new MemoryReads();
  const keeping = new MemoryKeeping({ history, journal, reads });
  const guarded = async <Result>(run: () => Result): Promise<Result> => {
    if (isClosed) throw new SallyportError(failure("E3914", { message: "The store has been closed." }));
    return run();
  };
  return {
    create: (record) => guarded(() => history.create(record)),
    get: (conversationId) => guarded(() => history.get(conversationId)),
    list: (page) => guarded(() => history.list(page)),
    update: (conversationId, change) => guarded(() => history.update(conversationId, change)),
    turns: (conversationId) => guarded(() => history.turns(conversationId)),
    append: (conversationId, turns) => guarded(() => history.append(conversationId, turns)),
    journal: journalBehind(journal, guarded),
    reads: {
      note: (conversationId, read) => guarded(() => reads.note(conversationId, read)),
      find: (conversationId, path) => guarded(() => reads.find(conversationId, path)),
    },
    keeping: {
      outlines: (page) => guarded(() => keeping.outlines(page)),
      remove: (conversationIds, which) => guarded(() => keeping.remove(conversationIds, which)),
      compact: () => guarded(() => 0),
    },
    close: async () => {
      isClosed = true;
    },
  };
}

function journalBehind(
  journal: MemoryJournal,
  guarded: <Result>(run: () => Result) => Promise<Result>,
): Conversations["journal"] {
  return {
    open: (batch) => guarded(() => journal.open(batch)),
    record: (batchId, entry) => guarded(() => journal.record(batchId, entry)),
    seal: (batchId, sealed) => guarded(() => journal.seal(batchId, sealed)),
    result: (batchId, index, result) => guarded(() => journal.result(batchId, index, result)),
    close: (batchId, turns) => guarded(() => journal.close(batchId, turns)),
    openOf: (conversationId) => guarded(() => journal.openOf(conversationId)),
  };
}
