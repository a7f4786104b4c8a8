import type { CallFilter, CallReader, CallRecord } from "@sallyport/engine/ports";
import { describe, expect, it } from "vitest";
import { readMoment, recentCalls } from "./recent-calls.ts";

const NOW = Date.UTC(2026, 0, 7, 12);

function record(index: number): CallRecord {
  return {
    callId: `c${index}`,
    tenant: "t",
    agent: "a",
    tool: "tool",
    version: "1.0.0",
    operation: "run",
    manifestHash: "",
    sideEffects: "none",
    input: "{}",
    inputHash: "",
    owner: "o",
    attempt: 1,
    startedAt: NOW - index * 60_000,
    phase: "executing",
  };
}

/** A journal of so many calls, a minute apart, newest first. */
function journal(calls: number) {
  const all = Array.from({ length: calls }, (_, index) => record(index));
  const asked: CallFilter[] = [];
  const reader: CallReader = {
    get: async () => undefined,
    byIdempotencyKey: async () => undefined,
    list: async (filter) => {
      asked.push(filter);
      const { before } = filter;
      const from = before === undefined ? 0 : all.findIndex(({ callId }) => callId === before.id) + 1;
      return all.slice(from, from + filter.limit);
    },
  };
  return { reader, asked };
}

describe("the calls a backtest looks at", () => {
  it("are the newest, page by page", async () => {
    const { reader, asked } = journal(2_500);
    expect(await recentCalls(reader, { limit: 2_200 })).toHaveLength(2_200);
    expect(asked.map(({ limit }) => limit)).toEqual([1_000, 1_000, 200]);
    expect(await recentCalls(reader, { limit: 5_000 })).toHaveLength(2_500);
  });

  it("end where the time does", async () => {
    const { reader, asked } = journal(2_500);
    expect(await recentCalls(reader, { limit: 5_000, since: NOW - 59 * 60_000 })).toHaveLength(60);
    expect(asked).toHaveLength(1);
  });

  it("may be none", async () => expect(await recentCalls(journal(0).reader, { limit: 5 })).toEqual([]));
});

describe("a moment in words", () => {
  it.each([
    ["30m", NOW - 1_800_000],
    ["24h", NOW - 86_400_000],
    ["7d", NOW - 604_800_000],
    ["2026-01-01T00:00:00Z", Date.UTC(2026, 0, 1)],
    ["yesterday", undefined],
    ["7", undefined],
  ])("%s", (text, at) => expect(readMoment(text, NOW)).toBe(at));
});
