import { tenantId } from "@sallyport/engine/host";
import type { ClosedWith } from "@sallyport/engine/ports";
import { failedClosing, newCallId } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { CallbackRig } from "./fixtures/callback-rig.ts";
import { answering, Receiver } from "./fixtures/receiver.ts";

const WAIT = { timeout: 30_000, interval: 10 };

describe("a callback [L3-API-1] [L3P2-1]", () => {
  it("tells how the call ended, signed, once, under the call's id", async () => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    const callbacks = rig.start();
    const callId = await rig.ended(receiver.url);
    callbacks.kick();
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    expect(receiver.told).toMatchObject([
      {
        id: expect.stringMatching(`^${callId}~[0-9a-f]{16}$`),
        body: { invocation_id: callId, status: "success", result: { sum: 2 }, execution_metadata: {} },
      },
    ]);
    expect(await rig.of(callId)).toMatchObject({ attempts: 1 });
    expect(await rig.of(callId)).not.toHaveProperty("problem");
  });

  it("tells of a failure too", async () => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    rig.start();
    const callId = newCallId();
    await rig.ended(receiver.url, { callId, closing: failedClosing(callId, "timeout") });
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    expect(receiver.told[0]?.body).toMatchObject({
      status: "timeout",
      error: { retryable: expect.any(Boolean) },
    });
  });

  it("is found without anybody saying so", async () => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    rig.start();
    const callId = await rig.ended(receiver.url);
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
  });

  it("has an id that can be signed for, whatever the call is called", async () => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    rig.start();
    const callId = await rig.ended(receiver.url, { callId: "a.1:b_c-d" });
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    expect(receiver.told[0]).toMatchObject({
      id: expect.stringMatching(/^a~1:b_c-d~/),
      body: { invocation_id: "a.1:b_c-d" },
    });
  });

  it("has another id than another tenant's of a call of the same id, and tells neither of the other", async () => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    rig.start();
    const first = await rig.ended(receiver.url, { tenant: "acme" });
    const second = await rig.ended(receiver.url, { tenant: "other", callId: tenantId(first, "other") });
    for (const callId of [first, second])
      await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    const ids = receiver.told.map(({ id }) => id).sort();
    expect(ids).toEqual([tenantId(first, "acme"), tenantId(first, "other")].sort());
  });

  it("is tried again, later each time, until it is taken", async () => {
    await using receiver = await Receiver.start((res, nth) => answering(nth < 3 ? 500 : 200)(res));
    await using rig = new CallbackRig();
    const callbacks = rig.start({ waitsMs: [60_000, 600_000], random: () => 0 });
    const callId = await rig.ended(receiver.url);
    const firstAt = rig.clock.now();
    callbacks.kick();
    await expect.poll(async () => (await rig.of(callId))?.problem, WAIT).toContain("answered 500");
    expect(await rig.of(callId)).toMatchObject({ state: "due", attempts: 1 });
    expect((await rig.of(callId))?.dueAt).toBeGreaterThanOrEqual(firstAt + 60_000);
    rig.clock.forward(61_000);
    callbacks.kick();
    await expect.poll(async () => (await rig.of(callId))?.attempts, WAIT).toBe(2);
    await expect
      .poll(async () => ((await rig.of(callId))?.dueAt ?? 0) - rig.clock.now(), WAIT)
      .toBeGreaterThan(500_000);
    rig.clock.forward(601_000);
    callbacks.kick();
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    expect(receiver.counts()).toEqual({ [callId]: 3 });
  });

  it("waits as long as the receiver asks", async () => {
    await using receiver = await Receiver.start(answering(429, { "retry-after": "3600" }));
    await using rig = new CallbackRig();
    rig.start();
    const callId = await rig.ended(receiver.url);
    await expect.poll(async () => (await rig.of(callId))?.problem, WAIT).toContain("429");
    expect(((await rig.of(callId))?.dueAt ?? 0) - rig.clock.now()).toBeGreaterThan(3_500_000);
  });

  it("is given up after so many tries, with the reason, and is left alone then", async () => {
    await using receiver = await Receiver.start(answering(503));
    await using rig = new CallbackRig();
    const callbacks = rig.start({ attempts: 3 });
    const callId = await rig.ended(`${receiver.url}/s3cret?token=s3cret`);
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("given_up");
    expect(await rig.of(callId)).toMatchObject({ attempts: 3, problem: "127.0.0.1 answered 503." });
    callbacks.kick();
    expect(receiver.told).toHaveLength(3);
    expect(rig.log.lines.join("\n")).toContain("warn a callback was given up");
    expect(rig.log.lines.join("\n")).not.toContain("s3cret");
  });

  it.each([
    ["the receiver is gone for good", 410, undefined],
    ["it would have to follow a redirect", 307, undefined],
    ["its URL may not be reached", 204, "http://169.254.169.254/latest"],
  ])("is given up at once when %s", async (_, status, url) => {
    await using receiver = await Receiver.start(answering(status, { location: "http://127.0.0.1:1/" }));
    await using rig = new CallbackRig();
    rig.start();
    const callId = await rig.ended(url ?? receiver.url);
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("given_up");
    expect(await rig.of(callId)).toMatchObject({ attempts: 1, problem: expect.any(String) });
  });

  it("to a host that is no longer wanted is given up, and nothing is sent", async () => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    rig.start({ refuse: () => "its host is not on the list" });
    const callId = await rig.ended(receiver.url);
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("given_up");
    expect(await rig.of(callId)).toMatchObject({ problem: "It is not sent: its host is not on the list." });
    expect(receiver.told).toEqual([]);
  });

  it("whose body cannot be written, or whose call is gone, is given up", async () => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    const { calls, ...store } = rig.store;
    const unwritable: object = Object.defineProperty({}, "answer", {
      get: () => {
        throw new Error("no");
      },
    });
    const get: typeof calls.get = async (callId) => {
      const record = await calls.get(callId);
      return record && { ...record, closing: unwritable as ClosedWith };
    };
    rig.start({ store: { ...store, calls: { ...calls, get } } });
    const callId = await rig.ended(receiver.url);
    const lost = {
      callId: "lost",
      tenant: "acme",
      url: receiver.url,
      state: "due" as const,
      attempts: 0,
      dueAt: 0,
    };
    await rig.store.commit({ tenant: "acme", callbacks: [{ callback: lost }] });
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("given_up");
    await expect.poll(() => rig.stateOf("lost"), WAIT).toBe("given_up");
    expect(receiver.told).toEqual([]);
  });
});

describe("many callbacks", () => {
  it("go out a few at a time, fewer to one host, and a host that hangs holds up nobody else", async () => {
    await using hanging = await Receiver.start(() => undefined);
    await using others = await Promise.all([1, 2, 3].map(() => Receiver.start())).then((receivers) => ({
      receivers,
      async [Symbol.asyncDispose]() {
        for (const receiver of receivers) await receiver[Symbol.asyncDispose]();
      },
    }));
    await using rig = new CallbackRig();
    // More than one window of them before everybody else.
    for (let nth = 0; nth < 80; nth += 1) await rig.ended(hanging.url);
    const callIds: string[] = [];
    for (const receiver of others.receivers)
      for (let nth = 0; nth < 10; nth += 1) callIds.push(await rig.ended(receiver.url));
    rig.start({ concurrent: 4, perHost: 2, timeoutMs: 60_000 });
    for (const callId of callIds) await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    expect(hanging.told).toHaveLength(2);
    for (const receiver of [hanging, ...others.receivers]) expect(receiver.mostBusy).toBeLessThanOrEqual(2);
  });
});
