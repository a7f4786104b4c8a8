import type { ConversationOutline } from "../ports/conversations.ts";
import type { MemoryHistory, MemoryReads } from "./conversations-history.ts";
import type { MemoryJournal } from "./conversations-journal.ts";

interface Parts {
  history: MemoryHistory;
  journal: MemoryJournal;
  reads: MemoryReads;
}

/** Looks over the conversations and forgets them, synchronously. */
export class MemoryKeeping {
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
