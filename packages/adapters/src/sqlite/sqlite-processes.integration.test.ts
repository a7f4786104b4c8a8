import type { Store } from "@sallyport/engine/ports";
import { chainOf, opening, pendingOf, sampleCall } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { inFolder, StoreProcess } from "./fixtures/run-process.ts";
import { openSqliteStore } from "./index.ts";

async function chainIsWhole(store: Store): Promise<void> {
  const entries = await store.audit.read("acme", { strand: 0, after: 0, limit: 1_000_000 });
  expect(entries).toEqual(chainOf(entries.map(({ body }) => body)));
  expect(await store.audit.heads("acme")).toMatchObject([{ sequence: entries.length }]);
}

/** Fails unless the store takes a unit and gives it back, then closes it. */
async function writesIn(store: Store): Promise<void> {
  await store.commit(opening(sampleCall({ callId: "second" })));
  expect(await store.calls.get("second")).toMatchObject({ callId: "second" });
  await store.close();
}

describe("one process at a time writes in a folder", () => {
  it("refuses a second process with E3915, naming the first", () =>
    inFolder(async (folder) => {
      const holder = new StoreProcess(folder, "hold");
      await holder.said("ready");
      const second = openSqliteStore({ folder, waitForLockMs: 100 });
      await expect(second).rejects.toMatchObject({
        failure: { code: "E3915", message: expect.stringContaining(`process ${holder.child.pid} `) },
      });
      holder.child.stdin.end();
      await holder.ended;
    }));

  it("lets a second process in as soon as the first lets go", () =>
    inFolder(async (folder) => {
      const holder = new StoreProcess(folder, "hold");
      await holder.said("ready");
      const waiting = openSqliteStore({ folder, waitForLockMs: 20_000 });
      // Once this one, which came later, was turned away, the one that waits has been too.
      const later = openSqliteStore({ folder, waitForLockMs: 0 });
      await expect(later).rejects.toMatchObject({ failure: { code: "E3915" } });
      holder.child.stdin.end();
      await writesIn(await waiting);
      await holder.ended;
      expect([holder.child.exitCode, holder.errors]).toEqual([0, ""]);
    }));

  it("refuses a second store in the same process, which does not cost the first its lock", () =>
    inFolder(async (folder) => {
      const first = await openSqliteStore({ folder });
      const second = openSqliteStore({ folder, waitForLockMs: 0 });
      await expect(second).rejects.toMatchObject({ failure: { code: "E3915" } });
      const other = new StoreProcess(folder, "try");
      expect(await other.said("error E3915")).toHaveLength(1);
      await other.ended;
      await first.close();
    }));

  it("needs no repair after a kill: the kernel's lock goes with the process", () =>
    inFolder(async (folder) => {
      const holder = new StoreProcess(folder, "hold");
      await holder.said("ready");
      await holder.kill();
      await writesIn(await openSqliteStore({ folder, waitForLockMs: 0 }));
    }));

  it("reads beside a process that writes, and refuses to write", () =>
    inFolder(async (folder) => {
      const writer = new StoreProcess(folder, "commit");
      const [first = ""] = await writer.said("ack");
      const reader = await openSqliteStore({ folder, readOnly: true });
      expect(await reader.calls.get(first.slice(4))).toMatchObject({ phase: "closed" });
      const write = reader.commit({ tenant: "acme" });
      await expect(write).rejects.toMatchObject({ failure: { code: "E3914" } });
      await expect(reader.outbox.delivered({ sink: "s", ids: ["1.0"] })).rejects.toMatchObject({
        failure: { code: "E3914" },
      });
      await reader.close();
      await writer.kill();
      const after = await openSqliteStore({ folder, readOnly: true });
      expect(await after.calls.get(first.slice(4))).toBeDefined();
      await after.close();
    }));
});

/** Where a call may be once its process has said so, and perhaps got further than it could say. */
const REACHED: Record<string, string[]> = {
  queued: ["queued", "executing", "closed"],
  runs: ["executing", "closed"],
  ended: ["closed"],
};

/** A queued call has its place and its order, no other has; a callback is there if and only if its call ended. */
async function queueIsWhole(store: Store): Promise<void> {
  const calls = await store.calls.list({ limit: 1_000_000 });
  const queued = calls.filter(({ phase }) => phase === "queued").map(({ callId }) => callId);
  expect(await store.queue.size()).toBe(queued.length);
  for (const { callId, phase } of calls) {
    const order = phase === "queued" ? `order of ${callId}` : undefined;
    expect(await store.queue.order(callId), callId).toBe(order);
    const isDue = (await store.callbacks.ofCall(callId))?.state === "due";
    expect(isDue, callId).toBe(phase === "closed");
  }
}

/** A waiting call has an approval that may still be used; one that runs has used it, and its order is forgotten. */
async function consentIsWhole(store: Store): Promise<void> {
  const calls = await store.calls.list({ limit: 1_000_000 });
  let events = 0;
  for (const { callId, phase } of calls) {
    const approval = await store.approvals.ofCall(callId);
    const order = await store.approvals.order(approval?.approvalId ?? "");
    const runs = phase === "executing";
    expect(approval?.standing.state, callId).toMatch(runs ? /^consumed$/ : /^(pending|approved)$/);
    expect(order, callId).toBe(runs ? undefined : "{}");
    events += approval?.revision ?? 0;
  }
  expect(await store.audit.heads("acme")).toMatchObject([{ sequence: events }]);
  await chainIsWhole(store);
}

describe("a process that ends", () => {
  it("by kill -9 between asking and running leaves no call without its approval, nor the other way [FR-APR-03]", () =>
    inFolder(async (folder) => {
      for (const round of [1, 2, 3]) {
        const child = new StoreProcess(folder, "consent");
        await child.said("runs", 20 * round);
        await child.kill();
        const store = await openSqliteStore({ folder });
        for (const line of child.lines) {
          const [reached, callId = ""] = line.split(" ");
          if (reached === "waits") expect(await store.calls.get(callId), line).toBeDefined();
          if (reached === "runs")
            expect(await store.calls.get(callId), line).toMatchObject({ phase: "executing" });
        }
        await consentIsWhole(store);
        await store.close();
      }
    }));

  it("by kill -9 while calls are accepted, begun and closed leaves every one where it was told to be", () =>
    inFolder(async (folder) => {
      for (const round of [1, 2, 3]) {
        const child = new StoreProcess(folder, "queue");
        await child.said("ended", 20 * round);
        await child.kill();
        const store = await openSqliteStore({ folder });
        for (const line of child.lines) {
          const [reached = "", callId = ""] = line.split(" ");
          const phase = (await store.calls.get(callId))?.phase;
          if (reached in REACHED) expect(REACHED[reached], line).toContain(phase);
        }
        await queueIsWhole(store);
        await store.close();
      }
    }));

  it("by kill -9 during commits leaves every acknowledged unit, and whole ones only", () =>
    inFolder(async (folder) => {
      const acknowledged: string[] = [];
      for (const round of [1, 2, 3, 4, 5]) {
        const writer = new StoreProcess(folder, "commit");
        await writer.said("ack", round * 40);
        await writer.kill();
        acknowledged.push(
          ...writer.lines.filter((line) => line.startsWith("ack")).map((line) => line.slice(4)),
        );
      }
      const store = await openSqliteStore({ folder });
      for (const callId of acknowledged) expect(await store.calls.get(callId), callId).toBeDefined();
      const calls = await store.calls.list({ limit: 1_000_000 });
      expect(await store.audit.heads("acme")).toMatchObject([{ sequence: calls.length }]);
      await chainIsWhole(store);
      // With each call its event, once for each sink.
      const ids = calls.map(({ callId }) => JSON.stringify({ name: callId })).sort();
      for (const sink of ["s", "t"]) {
        const batches = await pendingOf(store, { sink, limit: 1_000_000 });
        expect(batches.flatMap(({ events }) => events).sort()).toEqual(ids);
      }
      await store.close();
    }));

  it("without closing its store is not kept alive by it, and prints no warning", () =>
    inFolder(async (folder) => {
      const leaver = new StoreProcess(folder, "leave");
      await leaver.ended;
      expect(leaver.child.exitCode).toBe(0);
      expect(leaver.errors).toBe("");
      const store = await openSqliteStore({ folder });
      expect(await store.calls.get("left")).toBeDefined();
      await store.close();
    }));

  it("has said E3914 with advice when the disk took no more, and lost nothing acknowledged", () =>
    inFolder(async (folder) => {
      const writer = new StoreProcess(folder, "commit", 2_048);
      const [complaint] = await writer.said("error");
      expect(complaint).toMatch(/^error E3914 .*free/);
      await writer.ended;
      const store = await openSqliteStore({ folder });
      const acknowledged = writer.lines.filter((line) => line.startsWith("ack")).map((line) => line.slice(4));
      expect(acknowledged.length).toBeGreaterThan(0);
      for (const callId of acknowledged) expect(await store.calls.get(callId), callId).toBeDefined();
      await chainIsWhole(store);
      await store.close();
    }));
});
