import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KeyGuard, QUIET_MS } from "../keys/key-guard.ts";
import { type DrawnPrompt, PromptSight } from "./prompt-sight.ts";

const DRAWN: DrawnPrompt = { fits: true, listed: [0, 1], page: 4, most: 9, scopes: "none" };

function watched() {
  const guard = new KeyGuard(() => {});
  return { guard, sight: new PromptSight(guard) };
}

describe("what was seen of a prompt", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is nothing before it was painted, though it was drawn [FR-TUI-01] [NFR-SEC-05]", () => {
    const { sight, guard } = watched();
    sight.painted();
    sight.draws(DRAWN);
    vi.advanceTimersByTime(QUIET_MS + 1);
    expect(sight.shown(2)).toMatchObject({ fits: false, unseen: 2 });
    expect(guard.armed).toBe(false);
    sight.painted();
    vi.advanceTimersByTime(QUIET_MS + 1);
    expect(sight.shown(2)).toEqual({ fits: true, page: 4, most: 9, scopes: "none", unseen: 0 });
    expect(guard.armed).toBe(true);
  });

  it("tells a drawing that changes whether it can be read, so that no frame offers keys that do not count [FR-TUI-01]", () => {
    const { sight } = watched();
    expect(sight.draws(DRAWN)).toBe(true);
    sight.painted();
    expect([sight.draws({ ...DRAWN, fits: false }), sight.draws(DRAWN)]).toEqual([false, true]);
  });

  it("grows with each question that was on the screen [FR-TUI-01]", () => {
    const { sight } = watched();
    for (const listed of [[0], [0, 1], [3]]) {
      sight.draws({ ...DRAWN, listed });
      sight.painted();
    }
    expect(sight.shown(5).unseen).toBe(2);
    sight.reset();
    expect(sight.shown(5).unseen).toBe(5);
  });

  it("is to be read first when the window becomes large enough [FR-TUI-01] [NFR-SEC-05]", () => {
    const { sight, guard } = watched();
    sight.draws({ ...DRAWN, fits: false });
    sight.painted();
    vi.advanceTimersByTime(QUIET_MS + 1);
    expect([guard.armed, sight.shown(2).unseen]).toEqual([true, 2]);
    sight.draws(DRAWN);
    expect(sight.shown(2).fits).toBe(false);
    sight.painted();
    expect([guard.armed, sight.shown(2).fits]).toEqual([false, true]);
  });

  it("is no scope before the scopes are there [FR-TUI-01] [NFR-SEC-05]", () => {
    const { sight } = watched();
    sight.draws(DRAWN);
    sight.painted();
    sight.draws({ ...DRAWN, scopes: "all" });
    expect(sight.shown(2).scopes).toBe("none");
    sight.painted();
    expect(sight.shown(2).scopes).toBe("all");
  });
});
