import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openSpillKeeping } from "@sallyport/adapters/spill";
import { describe, expect, it } from "vitest";
import { KeepingRoom } from "./fixtures/keeping-room.ts";
import { staleOnes } from "./stale.ts";

describe("conversations that are too old", () => {
  it("go with their output, and it is said once; the others stay [NFR-REL-01]", async () => {
    await using room = await KeepingRoom.open();
    for (const [id, days] of Object.entries({ old: 91, older: 400, young: 89 }))
      await room.talk(id, { days });
    expect(await room.tidy({ conversationDays: 90 })).toEqual([
      "Removed 2 conversations not used for 90 days (loop.keep_conversations_days), with 2 kept outputs (2.0 KiB).",
    ]);
    const left = { conversations: ["young"], output: ["young"] };
    expect(await room.left("old", "older", "young")).toEqual(left);
    expect(await room.tidy({ conversationDays: 90 })).toEqual([]);
  });

  it("stay while one is resumed or has an open batch, and for ever where that is configured [FR-RES-04]", async () => {
    await using room = await KeepingRoom.open();
    await room.talk("resumed", { days: 400 });
    await room.talk("interrupted", { days: 400, open: true });
    expect(await room.tidy({ conversationDays: 1 }, { spare: "resumed" })).toEqual([]);
    expect(await room.tidy({ conversationDays: 0 })).toEqual([]);
    const both = ["interrupted", "resumed"];
    expect(await room.left(...both)).toEqual({ conversations: both, output: both });
  });

  it("are the oldest first, and none that would stay anyway [FR-RES-04]", async () => {
    await using room = await KeepingRoom.open();
    for (const [id, days] of Object.entries({ old: 91, oldest: 99, older: 95 }))
      await room.talk(id, { days });
    await room.talk("interrupted", { days: 98, open: true });
    const stale = await staleOnes(room.kept.conversations, {
      before: Date.now() + 10 * 86_400_000,
      spare: "older",
    });
    expect(stale.map(({ conversationId }) => conversationId)).toEqual(["oldest", "old"]);
  });

  it("go the oldest first and only for a while; the rest goes the next time [NFR-REL-01]", async () => {
    await using room = await KeepingRoom.open();
    for (let days = 101; days <= 125; days += 1) await room.talk(`${days}`, { days });
    const start = Date.now() + 100 * 86_400_000;
    let looks = 0;
    // Time for two rounds of ten: every look at the clock takes half a second.
    const now = () => start + 500 * looks++;
    const [said] = await room.tidy({ conversationDays: 90 }, { now });
    expect(said).toMatch(/^Removed 20 conversations .* 5 more will go the next time\.$/);
    expect((await room.left()).conversations).toEqual(["101", "102", "103", "104", "105"]);
  });
});

describe("kept output", () => {
  it("of conversations that are gone goes, and that of the others stays [FR-OUT-04]", async () => {
    await using room = await KeepingRoom.open();
    await room.talk("there", { days: 50 });
    await room.output("gone");
    expect(await room.tidy({}, { now: Date.now })).toEqual([]);
    expect(await room.tidy({})).toEqual(["Removed 1 kept output (1.0 KiB) of conversations that are gone."]);
    expect((await room.left("there", "gone")).output).toEqual(["there"]);
  });

  it("beyond the limit goes, and never that of a resumed conversation or of an open batch [FR-OUT-04]", async () => {
    await using room = await KeepingRoom.open();
    for (const id of ["resumed", "one"]) await room.talk(id, { days: 50 });
    await room.talk("interrupted", { days: 50, open: true });
    expect(await room.tidy({ outputBytes: 3_072 }, { spare: "resumed" })).toEqual([]);
    expect(await room.tidy({ outputBytes: 2_048 }, { spare: "resumed" })).toEqual([
      "Removed the oldest 1 kept output (1.0 KiB): no more than 2.0 KiB is kept (loop.keep_output_mb).",
    ]);
    await room.tidy({ outputBytes: 1 }, { spare: "resumed" });
    const left = await room.left("resumed", "one", "interrupted");
    expect(left.output).toEqual(["resumed", "interrupted"]);
    expect(left.conversations).toHaveLength(3);
  });
});

describe("tidying up that does not succeed", () => {
  it("is told, does what else can be done, and never rejects [NFR-REL-01]", async () => {
    await using room = await KeepingRoom.open();
    await room.talk("old", { days: 400 });
    const { conversations } = room.kept;
    const broken = {
      ...conversations,
      keeping: { ...conversations.keeping, remove: () => Promise.reject(new Error("the disk is full")) },
    };
    await room.output("gone");
    const kept = { ...room.kept, conversations: broken };
    expect(await room.tidy({ conversationDays: 90 }, { kept })).toEqual([
      "! Tidying up did not succeed, and is tried again next time: the disk is full",
      "Removed 1 kept output (1.0 KiB) of conversations that are gone.",
    ]);
    await conversations.close();
    const lines = await room.tidy({ conversationDays: 90, outputBytes: 1 });
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).toMatch(/^! Tidying up .*closed/);
  });

  it("leaves the conversation gone when its output cannot be, and says so [NFR-REL-01]", async () => {
    await using room = await KeepingRoom.open();
    await room.talk("old", { days: 400 });
    const file = join(room.folder, "file");
    await writeFile(file, "");
    const kept = {
      ...room.kept,
      output: { ...openSpillKeeping(file), remove: () => Promise.reject(new Error("EACCES")) },
    };
    expect(await room.tidy({ conversationDays: 90 }, { kept })).toEqual([
      "Removed 1 conversation not used for 90 days (loop.keep_conversations_days).",
      "! Some of the output could not be removed: EACCES",
    ]);
    expect((await room.left()).conversations).toEqual([]);
  });
});
