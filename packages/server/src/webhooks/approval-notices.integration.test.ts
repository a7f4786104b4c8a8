import { describe, expect, it } from "vitest";
import { NoticeRig } from "./fixtures/notice-rig.ts";
import { answering, Receiver } from "./fixtures/receiver.ts";
import { noticeId } from "./notice.ts";

const WAIT = { timeout: 30_000, interval: 10 };
const HOUR_MS = 3_600_000;

/** The id of the first level's notice at the receiver's own address. */
function first(approvalId: string, { url }: Receiver): string {
  return noticeId({ approvalId, level: 1, url });
}

describe("approvers are told", () => {
  it("at each of two channels that lead to one receiver, under an id of its own", async () => {
    await using receiver = await Receiver.start();
    await using rig = new NoticeRig();
    rig.start();
    rig.ask([[`${receiver.url}/a`, `${receiver.url}/b`]]);
    await expect.poll(() => receiver.told.length, WAIT).toBe(2);
    expect(Object.values(receiver.counts())).toEqual([1, 1]);
  });

  it("all of them, also when more questions are open than notices may wait", async () => {
    let isUp = false;
    await using receiver = await Receiver.start((res) => answering(isUp ? 200 : 500)(res));
    await using rig = new NoticeRig();
    rig.start({ pollMs: 30, most: 2, attempts: 10_000 });
    const ids = Array.from({ length: 7 }, (_, n) => rig.ask([[receiver.url]], { approvalId: `q${n}` }));
    await expect.poll(() => rig.log.lines.join("\n"), WAIT).toContain("too many notices are waiting");
    isUp = true;
    const wanted = ids.map((id) => first(id, receiver));
    await expect.poll(() => Object.keys(receiver.counts()).toSorted(), WAIT).toEqual(wanted.toSorted());
  });

  it("when a question is put: signed, once, with links and a pass", async () => {
    await using receiver = await Receiver.start();
    await using rig = new NoticeRig();
    rig.start();
    const approvalId = rig.ask([[receiver.url, "slack:#ops", "ada@example.com", receiver.url]]);
    await expect.poll(() => receiver.told.length, WAIT).toBe(1);
    expect(receiver.told).toMatchObject([
      {
        id: first(approvalId, receiver),
        body: {
          type: "approval.requested",
          approval_id: approvalId,
          level: 1,
          approve_url: `https://runtime.example/v1/approvals/${approvalId}:approve`,
          token: "pass-ada-1-1",
        },
      },
    ]);
  });

  it("only once, however often the bus speaks of it", async () => {
    await using receiver = await Receiver.start();
    await using rig = new NoticeRig();
    rig.start();
    const approvalId = rig.ask([[receiver.url]]);
    const record = rig.records.get(approvalId);
    await expect.poll(() => receiver.told.length, WAIT).toBe(1);
    for (let nth = 0; nth < 5; nth += 1) if (record) rig.put({ ...record });
    const other = rig.ask([[receiver.url]], { approvalId: "other" });
    await expect.poll(() => receiver.counts()[first(other, receiver)], WAIT).toBe(1);
    expect(receiver.counts()).toEqual({ [first(approvalId, receiver)]: 1, [first("other", receiver)]: 1 });
  });

  it("level by level, when each one's turn has come, and not after the answer", async () => {
    await using receiver = await Receiver.start();
    await using rig = new NoticeRig();
    rig.start({ pollMs: 30 });
    const approvalId = rig.ask([[`${receiver.url}/1`], [`${receiver.url}/2`], [`${receiver.url}/3`]]);
    await expect.poll(() => receiver.told.length, WAIT).toBe(1);
    rig.clock.forward(HOUR_MS);
    await expect.poll(() => receiver.told.length, WAIT).toBe(2);
    expect(receiver.told.map(({ id, path }) => [id, path])).toEqual([
      [noticeId({ approvalId, level: 1, url: `${receiver.url}/1` }), "/hook/1"],
      [noticeId({ approvalId, level: 2, url: `${receiver.url}/2` }), "/hook/2"],
    ]);
    rig.settle(approvalId);
    rig.clock.forward(HOUR_MS);
    const other = rig.ask([[receiver.url]], { approvalId: "other" });
    await expect.poll(() => receiver.counts()[first(other, receiver)], WAIT).toBe(1);
    expect(receiver.told).toHaveLength(3);
  });

  it("by its own clock, without anybody looking through all of them", async () => {
    await using receiver = await Receiver.start();
    await using rig = new NoticeRig();
    rig.start({ pollMs: 3_600_000 });
    const short = (level: number) => ({
      level,
      approvers: ["*"],
      timeoutMs: 3_000,
      channels: [`${receiver.url}/${level}`],
    });
    rig.ask([[]], { levels: [short(1), short(2)], expiresAt: rig.clock.now() + 6_000 });
    await expect.poll(() => receiver.told.map(({ path }) => path), WAIT).toEqual(["/hook/1", "/hook/2"]);
  });

  it("of questions that were there before, and of those the bus did not tell of", async () => {
    await using receiver = await Receiver.start();
    await using rig = new NoticeRig();
    const before = rig.ask([[receiver.url]]);
    rig.start({ pollMs: 30 });
    await expect.poll(() => receiver.counts(), WAIT).toEqual({ [first(before, receiver)]: 1 });
    const record = rig.records.get(before);
    if (record) rig.records.set("unheard", { ...record, approvalId: "unheard" });
    await expect
      .poll(() => receiver.counts(), WAIT)
      .toEqual({ [first(before, receiver)]: 1, [first("unheard", receiver)]: 1 });
  });

  it("by one of several processes, and by none that starts later [L3P2-2]", async () => {
    await using receiver = await Receiver.start();
    await using rig = new NoticeRig();
    const urls = ["a", "b", "c", "d"].map((path) => `${receiver.url}/${path}`);
    for (const _ of [1, 2, 3]) rig.start();
    rig.ask([urls]);
    await expect.poll(() => receiver.told.length, WAIT).toBe(urls.length);
    rig.start();
    const other = rig.ask([[receiver.url]], { approvalId: "other" });
    await expect.poll(() => receiver.counts()[first(other, receiver)], WAIT).toBe(1);
    expect(Object.values(receiver.counts())).toEqual([1, 1, 1, 1, 1]);
  });

  it("again later when it failed, until it is taken", async () => {
    await using receiver = await Receiver.start((res, nth) => answering(nth < 3 ? 500 : 200)(res));
    await using rig = new NoticeRig();
    rig.start({ pollMs: 30 });
    rig.ask([[receiver.url]]);
    await expect.poll(() => rig.log.lines.join("\n"), WAIT).toContain("info approvers were told");
    expect(receiver.told).toHaveLength(3);
  });

  it("so many times and no more", async () => {
    await using receiver = await Receiver.start(answering(500));
    await using rig = new NoticeRig();
    rig.start({ pollMs: 30, attempts: 3 });
    rig.ask([[`${receiver.url}/s3cret`]]);
    await expect.poll(() => rig.log.lines.join("\n"), WAIT).toContain("warn approvers could not be told");
    expect(receiver.told).toHaveLength(3);
    expect(rig.log.lines.join("\n")).not.toMatch(/s3cret|pass-/);
  });

  it("no longer when the question is settled before the next try", async () => {
    await using receiver = await Receiver.start(answering(500));
    await using rig = new NoticeRig();
    rig.start({ pollMs: 30, waitsMs: [60_000] });
    const approvalId = rig.ask([[receiver.url]]);
    await expect.poll(() => rig.log.lines.join("\n"), WAIT).toContain("told again later");
    rig.settle(approvalId);
    rig.clock.forward(120_000);
    const other = rig.ask([[receiver.url]], { approvalId: "other" });
    await expect.poll(() => receiver.counts()[first(other, receiver)], WAIT).toBe(1);
    expect(receiver.counts()[first(approvalId, receiver)]).toBe(1);
  });

  it("once the store answers again, and it is not asked in a tight loop meanwhile", async () => {
    await using receiver = await Receiver.start();
    await using rig = new NoticeRig();
    rig.trouble = new Error("disk");
    const began = performance.now();
    rig.start();
    const approvalId = rig.ask([[receiver.url]]);
    // Once at the start, once for the bus, and then only after a rest.
    await expect.poll(() => rig.log.lines.length, WAIT).toBeGreaterThanOrEqual(3);
    expect(performance.now() - began).toBeGreaterThan(900);
    rig.trouble = undefined;
    await expect.poll(() => receiver.counts(), WAIT).toEqual({ [first(approvalId, receiver)]: 1 });
  });

  it("even when a pass cannot be signed at first", async () => {
    await using receiver = await Receiver.start();
    await using rig = new NoticeRig();
    let tries = 0;
    rig.start({
      pollMs: 30,
      mint() {
        tries += 1;
        if (tries === 1) throw new Error("no key");
        return "pass";
      },
    });
    rig.ask([[receiver.url]]);
    await expect.poll(() => receiver.told[0]?.body.token, WAIT).toBe("pass");
  });
});
