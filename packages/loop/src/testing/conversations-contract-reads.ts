import { describe, expect, it } from "vitest";
import type { OpenConversations } from "./conversations-contract-samples.ts";
import { begun } from "./conversations-contract-samples.ts";

/** What was read in which conversation. */
export function readsContract(open: OpenConversations): void {
  describe("the ledger of reads", () => {
    it("knows the last content of a path that a conversation saw [FR-TOOL-PATCH-02]", async () => {
      const { conversations } = await open();
      const id = await begun(conversations);
      const { reads } = conversations;
      const read = { path: "/ws/a.txt", sha256: "aa", at: 1 };
      expect(await reads.find(id, read.path)).toBeUndefined();
      await reads.note(id, read);
      expect(await reads.find(id, read.path)).toEqual(read);
      await reads.note(id, { ...read, sha256: "bb", at: 2 });
      expect(await reads.find(id, read.path)).toEqual({ ...read, sha256: "bb", at: 2 });
    });

    it("keeps conversations and paths apart [FR-TOOL-PATCH-02]", async () => {
      const { conversations } = await open();
      const { reads } = conversations;
      const [one, two] = [await begun(conversations), await begun(conversations)];
      await reads.note(one, { path: "/ws/a", sha256: "aa", at: 1 });
      await reads.note(two, { path: "/ws/b", sha256: "bb", at: 1 });
      expect(await reads.find(one, "/ws/b")).toBeUndefined();
      expect(await reads.find(two, "/ws/a")).toBeUndefined();
      expect(await reads.find(one, "/ws/A")).toBeUndefined();
      expect(await reads.find(one, "/ws/a")).toMatchObject({ sha256: "aa" });
    });

    it("serves a session that is not a kept conversation, and does not make it one [FR-TOOL-PATCH-02]", async () => {
      const { conversations } = await open();
      const read = { path: "/ws/a", sha256: "aa", at: 1 };
      await conversations.reads.note("session", read);
      expect(await conversations.reads.find("session", "/ws/a")).toEqual(read);
      expect(await conversations.get("session")).toBeUndefined();
    });
  });
}
