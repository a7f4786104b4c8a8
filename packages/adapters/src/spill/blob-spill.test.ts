import { createMemoryBlobs } from "@sallyport/engine";
import type { Blobs } from "@sallyport/engine/ports";
import { beforeEach, describe, expect, it } from "vitest";
import { openBlobSpill, openBlobSpillKeeping } from "./index.ts";

const DAY_MS = 86_400_000;
const NOTHING = { files: 0, bytes: 0 };

let blobs: Blobs;
let now: number;
beforeEach(() => {
  now = 100 * DAY_MS;
  blobs = createMemoryBlobs(() => now);
});

const at = (scope = "ours") => {
  const options = { blobs, scope };
  return { spill: openBlobSpill(options), keeping: openBlobSpillKeeping(options) };
};

/** Keeps output so many days ago; resolves with how to read it. */
async function kept(conversationId: string, callId: string, { bytes = 10, days = 0, scope = "ours" } = {}) {
  now -= days * DAY_MS;
  const { spill } = at(scope);
  const name = await spill.keep({ conversationId, callId, text: "x".repeat(bytes) });
  now += days * DAY_MS;
  return () => spill.read(conversationId, name);
}

describe("long output in blobs", () => {
  it("is read by its conversation alone, under a name that was given [FR-OUT-04]", async () => {
    const { spill } = at();
    const name = await spill.keep({ conversationId: "../c", callId: "/call", text: "grüezi\u0000\n" });
    expect(await spill.read("../c", name)).toBe("grüezi\u0000\n");
    expect(spill.hint(name)).toContain(name);
    expect(await spill.read("c2", name)).toBeUndefined();
    expect(await at("theirs").spill.read("../c", name)).toBeUndefined();
    for (const wrong of ["../../etc/passwd", "", name.toUpperCase(), `${name}.txt`, `${name}/x`])
      expect(await spill.read("../c", wrong)).toBeUndefined();
    expect((await blobs.list("")).blobs).toMatchObject([
      { name: expect.stringMatching(/^output\/ours\/[0-9a-f]{64}\/[0-9a-f]{16}\.txt$/) },
    ]);
  });

  it("is counted and goes with its conversation", async () => {
    await kept("one", "a");
    await kept("one", "b", { bytes: 5 });
    const other = await kept("two", "a");
    const { keeping } = at();
    expect(await keeping.sizeOf("one")).toEqual({ files: 2, bytes: 15 });
    expect(await keeping.remove("one")).toEqual({ files: 2, bytes: 15 });
    expect(await keeping.sizeOf("one")).toEqual(NOTHING);
    expect(await other()).toBe("x".repeat(10));
  });

  it("goes when it belongs to no conversation, is a day old, and is not another machine's", async () => {
    const known = await kept("known", "a", { days: 9 });
    const orphan = await kept("orphan", "a", { days: 2 });
    const fresh = await kept("fresh", "a", { days: 2 });
    await kept("fresh", "b");
    const theirs = await kept("orphan", "a", { days: 9, scope: "theirs" });
    const orphans = { conversationIds: ["known"], before: now - DAY_MS };
    expect(await at().keeping.removeOrphans({ ...orphans, goOn: () => false })).toEqual(NOTHING);
    expect(await at().keeping.removeOrphans(orphans)).toEqual({ files: 1, bytes: 10 });
    const left = await Promise.all([known(), orphan(), fresh(), theirs()]);
    expect(left.map((text) => text !== undefined)).toEqual([true, false, true, true]);
  });

  it("loses the oldest when there is too much, and nothing of what is spared [FR-OUT-04]", async () => {
    const spared = await kept("spared", "a", { bytes: 100, days: 9 });
    const oldest = await kept("one", "a", { bytes: 50, days: 8 });
    const newest = await kept("one", "b", { bytes: 50, days: 1 });
    const { keeping } = at();
    expect(await keeping.shrink({ maxBytes: 150, spare: ["spared"] })).toEqual({ files: 1, bytes: 50 });
    const left = await Promise.all([spared(), oldest(), newest()]);
    expect(left.map((text) => text !== undefined)).toEqual([true, false, true]);
  });
});
