import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { OutboxType, PendingMessage } from "@sallyport/engine/ports";

const LIST_PENDING =
  "SELECT last_position, lines FROM outbox WHERE lines <> '' ORDER BY last_position LIMIT ?";

/** Reads the outbox. A row holds the messages of one unit. */
export class OutboxReads {
  readonly #pending: StatementSync;

  constructor(database: DatabaseSync) {
    this.#pending = database.prepare(LIST_PENDING);
  }

  pending(limit: number): PendingMessage[] {
    const messages: PendingMessage[] = [];
    if (limit < 1) return messages;
    for (const row of this.#pending.iterate(limit)) {
      messages.push(...expand(Number(row.last_position), String(row.lines)));
      if (messages.length >= limit) break;
    }
    return messages.slice(0, limit);
  }
}

function expand(last: number, text: string): PendingMessage[] {
  const lines = text.split("\n");
  return lines.map((line, index) => {
    const space = line.indexOf(" ");
    const type = line.slice(0, space) as OutboxType;
    return { callId: line.slice(space + 1), type, position: last - lines.length + 1 + index };
  });
}
