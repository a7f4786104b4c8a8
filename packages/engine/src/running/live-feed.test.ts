import { describe, expect, it } from "vitest";
import { LiveFeed } from "./live-feed.ts";

describe("a feed that is full", () => {
  it("lets go of output first, then of progress, and keeps every state and the end", () => {
    const feed = new LiveFeed();
    feed.push({ kind: "state", state: "EXECUTING", at: 0 });
    feed.push({ kind: "progress", percent: 1, at: 0 });
    for (let at = 1; at <= 3_000; at += 1)
      feed.push({ kind: "output", stream: "stdout", chunk: new Uint8Array(512), at });
    feed.push({ kind: "state", state: "COMPLETED", at: 3_001 });
    feed.push({ kind: "ended", status: "success", at: 3_002 });
    const kept = feed.after(0);
    expect(kept.filter(({ kind }) => kind !== "output").map(({ kind }) => kind)).toEqual([
      "state",
      "progress",
      "state",
      "ended",
    ]);
    expect(feed.bytes).toBeLessThanOrEqual(512 * 1024);
    expect(kept.map(({ number }) => number)).toEqual(kept.map(({ number }) => number).sort((a, b) => a - b));
    expect(kept.at(-1)?.number).toBe(feed.last);
    const [, , third] = kept;
    expect(feed.after(2)[0]).toEqual(third);
    expect(feed.after((third?.number ?? 0) - 1)[0]).toEqual(third);
    expect(feed.after(feed.last)).toEqual([]);
  });

  it("lets go of progress where there is no output", () => {
    const feed = new LiveFeed();
    feed.push({ kind: "state", state: "EXECUTING", at: 0 });
    for (let at = 1; at <= 2_500; at += 1) feed.push({ kind: "progress", percent: 1, at });
    expect([feed.after(0).length, feed.after(0)[0]?.kind]).toEqual([2_000, "state"]);
  });
});
