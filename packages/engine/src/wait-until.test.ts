import { describe, expect, test, vi } from "vitest";
import { waitUntil } from "./wait-until.ts";

const LONG_MS = 60_000;

describe("waiting for something to be read", () => {
  test("a value that is there needs no wait", async () => {
    expect(await waitUntil(() => 1, { everyMs: LONG_MS })).toBe(1);
  });

  test("reads again after the given time, asked for before each wait", async () => {
    const everyMs = vi.fn(() => 1);
    let reads = 0;
    expect(await waitUntil(async () => (++reads === 3 ? "read" : undefined), { everyMs })).toBe("read");
    expect(everyMs).toHaveBeenCalledTimes(2);
  });

  test("a hint cuts the wait short, also one that comes during a read", async () => {
    let wake = () => {};
    const stop = vi.fn();
    let reads = 0;
    const read = async () => {
      reads += 1;
      if (reads === 1) wake();
      if (reads === 2) setTimeout(() => wake(), 1);
      return reads === 3 ? "read" : undefined;
    };
    const hint = (given: () => void) => {
      wake = given;
      return stop;
    };
    expect(await waitUntil(read, { everyMs: LONG_MS, hint })).toBe("read");
    expect(stop).toHaveBeenCalledTimes(1);
  });

  test("the signal ends it, before, during a read and during a wait", async () => {
    expect(await waitUntil(() => 1, { everyMs: 1, signal: AbortSignal.abort() })).toBeUndefined();
    for (const delayMs of [0, 5]) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), delayMs);
      const { signal } = controller;
      expect(await waitUntil(() => undefined, { everyMs: LONG_MS, signal })).toBeUndefined();
    }
  });

  test("what a read throws is passed on, and nobody listens any more", async () => {
    const stop = vi.fn();
    const read = () => Promise.reject(new Error("away"));
    await expect(waitUntil(read, { everyMs: 1, hint: () => stop })).rejects.toThrow("away");
    expect(stop).toHaveBeenCalledTimes(1);
  });
});
