import { createMemoryConversations } from "@sallyport/loop";
import { describe, expect, it } from "vitest";
import { NO_REMOVAL, settled } from "./removal.ts";
import { removalDocument, removalText } from "./removal-text.ts";

const outline = {
  ...{ conversationId: "c-1", model: "m", cwd: "/", title: "", createdAt: 1, updatedAt: 1 },
  ...{ turns: 3, hasOpenBatch: false },
};
const forgotten = [{ conversationId: "c-1", output: { files: 1, bytes: 1_024 } }];

function kept(compact: () => Promise<number>) {
  const conversations = createMemoryConversations();
  const unused = () => Promise.reject(new Error("not asked"));
  const output = { sizeOf: unused, remove: unused, removeOrphans: unused, shrink: unused };
  return { conversations: { ...conversations, keeping: { ...conversations.keeping, compact } }, output };
}

describe("what was removed", () => {
  it("is said with what was freed, by the output and by the file", async () => {
    const removal = await settled(
      kept(async () => 4_096),
      { forgotten, outlines: [outline] },
    );
    expect(removalText(removal, { verb: "Deleted" })).toBe(
      "Deleted c-1: 3 messages, 1 kept output (1.0 KiB).\nFreed 5.0 KiB.",
    );
    expect(removalDocument(removal)).toEqual({
      removed: [{ ...forgotten[0], messages: 3 }],
      orphanedOutput: { files: 0, bytes: 0 },
      problems: [],
      freedBytes: 5_120,
    });
  });

  it("is said also when its room cannot be given back: it is gone all the same [NFR-REL-01]", async () => {
    const full = () => Promise.reject(new Error("the disk is full\u001b[2J"));
    const removal = await settled(kept(full), { forgotten, outlines: [outline] });
    expect(removalText(removal, { verb: "Deleted" })).toBe(
      "Deleted c-1: 3 messages, 1 kept output (1.0 KiB).\nFreed 1.0 KiB.\n! Some room could not be given back: the disk is full\\u001b[2J",
    );
    expect(removalDocument(removal).problems).toEqual(["the disk is full\u001b[2J"]);
  });

  it("is nothing where nothing went, and no room is sought then", async () => {
    const never = () => Promise.reject(new Error("asked"));
    const removal = await settled(kept(never), { forgotten: [], outlines: [outline] });
    expect(removal).toEqual(NO_REMOVAL);
    expect(removalText(removal, { verb: "Removed", none: "None." })).toBe("None.");
  });
});
