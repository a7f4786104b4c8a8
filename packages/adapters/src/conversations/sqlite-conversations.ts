import type { Conversations } from "@sallyport/engine";
import type { Connection } from "./connection.ts";
import { History } from "./history.ts";
import { SqliteJournal } from "./sqlite-journal.ts";
import { SqliteKeeping } from "./sqlite-keeping.ts";
import { SqliteReads } from "./sqlite-reads.ts";

/** Conversations over a connection of which they are the only users. */
export function conversationsOver(connection: Connection): Conversations {
  const history = new History(connection);
  return {
    create: (record) => connection.keep(() => history.create(record)),
    get: (conversationId) => connection.read(() => history.get(conversationId)),
    list: (page) => connection.read(() => history.list(page)),
    update: (conversationId, change) => connection.keep(() => history.update(conversationId, change)),
    turns: (conversationId) => connection.read(() => history.turns(conversationId)),
    append: (conversationId, turns) =>
      connection.keepAll(() => history.append(history.require(conversationId), turns)),
    journal: new SqliteJournal(connection, history),
    reads: new SqliteReads(connection),
    keeping: new SqliteKeeping(connection),
    close: () => connection.close(),
  };
}
