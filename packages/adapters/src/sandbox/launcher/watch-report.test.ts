import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLauncherLine } from "./launcher-report.ts";
import { watchReport } from "./supervise.ts";

const ENDED = {
  event: "ended",
  how: "exited",
  code: 3,
  signal: 0,
  errno: 0,
  userMs: 1,
  systemMs: 2,
  maxRssBytes: 3,
  wallMs: 4,
  violations: 0,
  left: 0,
};

async function report(...lines: (string | object)[]) {
  const stream = new PassThrough();
  const watched = watchReport(stream);
  for (const line of lines) stream.write(typeof line === "string" ? line : `${JSON.stringify(line)}\n`);
  stream.end();
  await watched.closed;
  return { ...watched.state, started: await watched.started };
}

describe("watchReport", () => {
  it("takes what the launcher says", async () => {
    const violation = { event: "violation", nr: 165, arch: 1, pid: 9, comm: "mount" };
    const limit = { event: "limit", limit: "memory", value: 10 };
    const { event: _, ...ending } = ENDED;
    expect(await report({ event: "started", pid: 7 }, violation, limit, ENDED)).toEqual({
      started: 7,
      limit: { limit: "memory", value: 10 },
      refused: [{ nr: 165, arch: 1, pid: 9, comm: "mount" }],
      ending,
    });
  });

  it("believes the first ending only, and nothing after it", async () => {
    const state = await report(ENDED, { ...ENDED, code: 9 }, { event: "limit", limit: "cpu", value: 1 });
    expect(state.ending?.code).toBe(3);
    expect(state.limit).toBeUndefined();
  });

  it.each([
    ["not JSON", "ended\n"],
    ["an unknown how", { ...ENDED, how: "fine" }],
    ["a missing number", { ...ENDED, userMs: undefined }],
    ["a number as text", { ...ENDED, code: "0" }],
    ["a negative number", { ...ENDED, left: -1 }],
    ["a cut line", JSON.stringify(ENDED)],
    ["a line that is too long", { ...ENDED, message: "x".repeat(10_000) }],
  ])("takes no ending from %s", async (_, line) => {
    expect(await report(line)).toEqual({ refused: [], started: undefined });
  });

  it("keeps fifty refused calls at most", async () => {
    const violation = { event: "violation", nr: 1, arch: 1, pid: 1, comm: "x" };
    expect((await report(...Array.from({ length: 80 }, () => violation))).refused).toHaveLength(50);
  });

  it("reads anything without throwing", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(() => readLauncherLine(Buffer.from(text))).not.toThrow();
      }),
    );
  });
});
