import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { conversationsContract } from "@sallyport/loop/testing";
import { openSqliteConversations } from "./index.ts";

for (const durability of ["power", "process"] as const) {
  conversationsContract(`conversations on SQLite that survive the end of ${durability}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "sallyport-conversations-"));
    let conversations = await openSqliteConversations({ folder, durability });
    return {
      conversations,
      async reopen() {
        await conversations.close();
        conversations = await openSqliteConversations({ folder, durability });
        return conversations;
      },
      async dispose() {
        await conversations.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  });
}
