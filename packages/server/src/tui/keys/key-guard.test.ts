import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KeyGuard, QUIET_MS } from "./key-guard.ts";

function guarded() {
  let armings = 0;
  const guard = new KeyGuard(() => {
    armings += 1;
  });
  return { guard, armings: () => armings };
}

describe("keys at a question", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("do not count before it was painted, however long ago it was asked [FR-TUI-01] [NFR-SEC-05]", () => {
    const { guard } = guarded();
    vi.advanceTimersByTime(60_000);
    expect([guard.counts(), guard.armed]).toEqual([false, false]);
  });

  it("count when it was painted and then no key came for a while [FR-TUI-01]", () => {
    const { guard, armings } = guarded();
    guard.painted();
    vi.advanceTimersByTime(QUIET_MS - 1);
    expect([guard.armed, armings()]).toEqual([false, 0]);
    vi.advanceTimersByTime(2);
    expect([guard.armed, armings(), guard.counts()]).toEqual([true, 1, true]);
  });

  it("have to wait anew with each key that comes too early [FR-TUI-01] [NFR-SEC-05]", () => {
    const { guard } = guarded();
    guard.painted();
    for (let key = 0; key < 20; key += 1) {
      vi.advanceTimersByTime(QUIET_MS - 1);
      expect(guard.counts()).toBe(false);
      guard.painted();
    }
    vi.advanceTimersByTime(QUIET_MS + 1);
    expect(guard.counts()).toBe(true);
  });

  it("that waited unread on a busy machine count as pressed before [FR-TUI-01] [NFR-SEC-05]", () => {
    const { guard } = guarded();
    guard.painted();
    // The time is over, and what was waiting is read before anything else happens.
    setTimeout(() => expect(guard.counts()).toBe(false), QUIET_MS);
    vi.advanceTimersByTime(QUIET_MS + 1);
    expect(guard.armed).toBe(false);
    vi.advanceTimersByTime(QUIET_MS + 1);
    expect(guard.armed).toBe(true);
  });

  it("begin anew with another question, and leave no timer behind [FR-TUI-01]", () => {
    const { guard } = guarded();
    guard.painted();
    vi.advanceTimersByTime(QUIET_MS + 1);
    guard.reset();
    expect(guard.counts()).toBe(false);
    guard.painted();
    guard.reset();
    expect(vi.getTimerCount()).toBe(0);
  });
});
