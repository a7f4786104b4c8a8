import type { LoopEvent } from "@sallyport/loop";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ScreenStore } from "./screen-store.ts";
import { emptyScreen } from "./state/screen-state.ts";

const chunk = (text: string): LoopEvent => ({ kind: "stdout", index: 0, id: "a", chunk: text });

describe("the store of the screen", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is painted at most 20 times a second, whatever comes [FR-TUI-03]", () => {
    const store = new ScreenStore(emptyScreen());
    let paintings = 0;
    store.watch(() => {
      paintings += 1;
    });
    for (let at = 0; at < 1_000; at += 1) {
      store.take(chunk(`${at}\n`));
      vi.advanceTimersByTime(1);
    }
    expect(paintings).toBeGreaterThan(15);
    expect(paintings).toBeLessThanOrEqual(21);
    expect(store.state.output?.total).toBe(1_000);
  });

  it("lets a tool wait only when it writes faster than can be shown [FR-TUI-03]", async () => {
    const store = new ScreenStore(emptyScreen());
    expect(store.listen(chunk("little\n"))).toBeUndefined();
    expect(store.listen({ kind: "text", delta: "x".repeat(2_000_000) })).toBeUndefined();
    const waits = store.listen(chunk("x".repeat(1_000_000)));
    expect(waits).toBeInstanceOf(Promise);
    vi.advanceTimersByTime(60);
    await waits;
    expect(store.listen(chunk("little\n"))).toBeUndefined();
  });

  it("leaves nobody waiting when it is closed", async () => {
    const store = new ScreenStore(emptyScreen());
    const waits = store.listen(chunk("x".repeat(1_000_000)));
    store.close();
    await waits;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("cleans whatever is taken, before anybody sees it [NFR-SEC-05]", () => {
    const store = new ScreenStore(emptyScreen());
    const seen: unknown[] = [];
    store.follow((event) => seen.push(event));
    store.take({ kind: "entries", entries: [{ kind: "notice", level: "info", text: "a\u001b[2Jb" }] });
    expect(JSON.stringify([seen, store.state])).not.toContain("2J");
  });
});
