import type { Conversations } from "../ports/conversations.ts";
import { MemoryHistory, MemoryReads } from "./conversations-history.ts";
import { MemoryJournal } from "./conversations-journal.ts";
import { MemoryKeeping } from "./conversations-keeping.ts";
import { Gate } from "./store/gate.ts";

/**
 * Conversations that live and die with the process: for tests, for embedding without a disk, and as the reference that
 * others are compared with. Nothing survives `close`.
 */
export function createMemoryConversations(): Conversations {
  const gate = new Gate();
  const history = new MemoryHistory();
  const journal = new MemoryJournal(history);
  const reads = new MemoryReads();
  const keeping = new MemoryKeeping({ history, journal, reads });
  const guarded = async <Result>(run: () => Result): Promise<Result> => {
    gate.enter();
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
    close: async () => gate.shut(),
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
