import type { JsonObject } from "@sallyport/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import { FaultyBus, type MessageFate } from "../testing/faulty-bus.ts";
import { errorOf, type FixtureTool, fixtureEngine } from "../testing/fixture-engine.ts";
import type { NumberedNews } from "./live-feed.ts";

const KINDS = ["none", "state", "external"] as const;
type Kind = (typeof KINDS)[number];

/** A tool that says how far it is and waits to be let go; `deaf`: it does not heed the abort either. */
function gated(sideEffects: Kind, { deaf = false } = {}) {
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  let show: (text: string) => void = () => undefined;
  const run: FixtureTool["run"] = async (_input, context) => {
    const { callId, signal } = context;
    show = (text) => void context.output(text);
    begun.push(callId);
    context.progress(40, "waiting");
    context.output("out é");
    const aborted = new Promise((_resolve, reject) => {
      if (!deaf) signal.addEventListener("abort", () => reject(signal.reason));
    });
    await Promise.race([gate.promise, aborted]);
    return "done";
  };
  return {
    id: "gated",
    run,
    conduct: { sideEffects },
    begun,
    finish: gate.resolve,
    show: (text: string) => show(text),
  };
}

function bytesOf(news: NumberedNews) {
  return "chunk" in news ? { ...news, chunk: [...news.chunk] } : news;
}

type Fate = MessageFate | "any";
const FATES: [string, Fate][] = [
  ["come", "told"],
  ["are lost", "lost"],
  ["come twice", "repeated"],
  ["come late and in the wrong order", "delayed"],
  ["are lost, doubled or late in turn", "any"],
];
const COMING = FATES.filter(([, fate]) => fate === "told" || fate === "repeated");

/** Two engines with the tool on one shared store. */
async function pair(fate: Fate, tool: FixtureTool) {
  let messages = 0;
  const inTurn = ["lost", "repeated", "delayed"] as const;
  const bus = new FaultyBus(() => (fate === "any" ? (inTurn[messages++ % 3] ?? "lost") : fate));
  const store = createMemoryStore({ isShared: true });
  const open = (instance: string) => fixtureEngine({ store, bus, instance, limits: { followMs: 5 } }, [tool]);
  const [here, there] = [await open("here"), await open("there")];
  const releasing = setInterval(() => bus.release(), 3);
  onTestFinished(async () => {
    clearInterval(releasing);
    await Promise.all([here.engine.close(), there.engine.close()]);
  });
  /** As if the process had ended without a word. */
  const kill = async (name: string) => {
    const all = await store.instances.list();
    for (const { instance, about } of all) if (about.name === name) await store.instances.leave(instance);
  };
  return { here, there, kill, bus };
}

describe.each(FATES)("a call in one of two processes whose messages %s", (_, fate) => {
  it.each(KINDS)("runs once when both get it under one key, side effects: %s [L3-API-1]", async (kind) => {
    const tool = gated(kind);
    const { here, there } = await pair(fate, tool);
    const answers = [here, there, here, there].map(({ call }) => call("gated", {}, { idempotencyKey: "k" }));
    await expect.poll(() => tool.begun.length).toBe(1);
    const conflict = errorOf(await there.call("gated", { other: 1 }, { idempotencyKey: "k" }));
    expect(conflict.code).toBe("E3904");
    tool.finish();
    const all = await Promise.all(answers);
    expect(all.map(({ status }) => status)).toEqual(Array(4).fill("success"));
    expect(new Set(all.map(({ callId }) => callId))).toEqual(new Set(tool.begun));
    expect(all.filter(({ replayed }) => !replayed)).toHaveLength(1);
  });

  it("runs once when both wait for a person, and both have its answer [L3-API-1] [R3-3]", async () => {
    const tool = gated("external");
    const { here, there } = await pair(fate, tool);
    const asked = { idempotencyKey: "k", requireApproval: true, onApproval: "wait" } as const;
    const answers = [here, there, there].map(({ call }) => call("gated", {}, asked));
    const questions = () => here.engine.approvals.list({ states: ["pending"], limit: 9 });
    await expect.poll(async () => (await questions()).length).toBe(1);
    await here.engine.approvals.approve((await questions())[0]?.approvalId ?? "", { by: "ada" });
    await expect.poll(() => tool.begun.length).toBe(1);
    tool.finish();
    const all = await Promise.all(answers);
    expect(all.map(({ status, callId }) => [status, callId])).toEqual(
      Array(3).fill(["success", tool.begun[0]]),
    );
  });

  it("ends for whoever watches the other one when it is cancelled there in the queue", async () => {
    const tool = gated("external");
    const { here, there } = await pair(fate, tool);
    const order = { tool: "gated", input: {}, caller: { tenant: "acme", agent: "agent" } };
    const full = await Promise.all([1, 2, 3].map(() => here.engine.accept(order)));
    const { callId } = await here.engine.accept(order);
    await expect.poll(() => tool.begun.length).toBe(full.length);
    const feed = await here.engine.watch(callId);
    expect(await there.engine.cancelCall(callId, { reason: "enough" })).toMatchObject({ cancelled: true });
    // It goes by the record from here on, though the call has still its place in the queue of this process.
    expect(await here.engine.watch(callId, feed)).toBeUndefined();
    expect((await here.engine.standing(callId))?.status).toBe("cancelled");
    tool.finish();
  });

  it("is cancelled from the other one [L3-API-2]", async () => {
    const tool = gated("external");
    const { here, there } = await pair(fate, tool);
    const answer = here.call("gated", {}, { callId: "c" });
    await expect.poll(() => tool.begun.length).toBe(1);
    const cancelling = there.engine.cancelCall("c", { reason: "enough" });
    expect(errorOf(await answer).code).toBe("E3906");
    const ends = ["Cancellation in progress.", "Already cancelled."];
    expect(await cancelling).toMatchObject({ cancelled: true });
    expect(ends).toContain((await cancelling)?.message);
    expect(await there.engine.cancelCall("c", { reason: "again" })).toMatchObject({ status: "cancelled" });
  });

  it("is running for both, and has the same end for both [L3-API-2]", async () => {
    const tool = gated("state");
    const { here, there } = await pair(fate, tool);
    const answer = here.call("gated", {}, { callId: "c" });
    await expect.poll(() => tool.begun.length).toBe(1);
    expect(await there.engine.standing("c")).toMatchObject({ status: "running", of: { tool: "gated" } });
    tool.finish();
    await answer;
    expect(await there.engine.standing("c")).toEqual(await here.engine.standing("c"));
  });
});

describe.each(COMING)("what only the process of a call knows, when messages %s", (_, fate) => {
  it.each(KINDS)("is told to the other: how it stands, side effects: %s [L3-EXE-5]", async (kind) => {
    const tool = gated(kind);
    const { here, there } = await pair(fate, tool);
    const answer = here.call("gated", {}, { callId: "c" });
    await expect.poll(() => tool.begun.length).toBe(1);
    const standing = await there.engine.standing("c");
    expect(standing).toMatchObject({
      progress: { percent: 40, phase: "waiting" },
      now: { state: "EXECUTING" },
    });
    expect(standing).toEqual(await here.engine.standing("c"));
    expect(await there.engine.cancelCall("c", { reason: "enough" })).toMatchObject({ cancelled: true });
    expect((await answer).status).toBe("cancelled");
    expect(await there.engine.standing("nobody")).toBeUndefined();
  });

  it("is told to the other: its news, under the same numbers, to the end [L3-API-2]", async () => {
    const tool = gated("external");
    const { here, there } = await pair(fate, tool);
    const caller = { tenant: "acme", agent: "agent" };
    const { callId } = await here.engine.accept({ tool: "gated", input: {}, caller });
    const [own, mirrored] = [await here.engine.watch(callId), await there.engine.watch(callId)];
    const signal = new AbortController().signal;
    await expect.poll(() => tool.begun.length).toBe(1);
    tool.finish();
    while (mirrored && !mirrored.ended) await mirrored.next(mirrored.last, signal);
    await expect.poll(() => own?.ended).toBe(true);
    expect(mirrored?.after(0).map(bytesOf)).toEqual(own?.after(0).map(bytesOf));
    expect(own?.after(0).map(({ kind }) => kind)).toEqual(expect.arrayContaining(["output", "progress"]));
    expect(mirrored?.epoch).toBe(own?.epoch);
    // Also when it is over, for a reader that comes late.
    expect((await there.engine.watch(callId))?.last).toBe(own?.last);
  });
});

describe("news of a call in another process", () => {
  it("has no gap and nothing twice when the answers to others are heard, too", async () => {
    const tool = gated("external");
    const { here, there, bus } = await pair("told", tool);
    const others: JsonObject[] = [];
    bus.subscribe("calls:updates", (message) => {
      // Whoever has just asked hears these before its own answer.
      if (message.ask !== undefined) for (const other of others) bus.publish("calls:updates", other);
      else if (message.news && others.length === 0) others.push(message, { ...message, after: 99, news: [] });
    });
    const answer = here.call("gated", {}, { callId: "c" });
    await expect.poll(() => tool.begun.length).toBe(1);
    const own = await here.engine.watch("c");
    tool.show("first");
    const mirrored = await there.engine.watch("c");
    tool.show("second");
    tool.finish();
    await answer;
    for (const feed of [mirrored, await there.engine.watch("c")]) {
      while (feed && !feed.ended) await feed.next(feed.last, new AbortController().signal);
      expect(feed?.after(0).map(bytesOf)).toEqual(own?.after(0).map(bytesOf));
    }
  });
});

describe("what another process says of a call", () => {
  it("is passed over where it is no news, as of another version or a stranger", async () => {
    const tool = gated("external");
    const { here, there, bus } = await pair("told", tool);
    const strange: JsonObject[] = [{ news: [null, 5, {}] }, { news: 7 }, { running: 1, news: "x" }];
    bus.subscribe("calls:updates", ({ ask, owner = "stranger", after }) => {
      if (ask === undefined || after === undefined) return;
      const said = strange.shift();
      if (said) bus.publish("calls:updates", { told: ask, from: owner, after, ...said });
    });
    const answer = here.call("gated", {}, { callId: "c" });
    await expect.poll(() => tool.begun.length).toBe(1);
    const own = await here.engine.watch("c");
    for (let tries = 0; tries < 3; tries += 1) {
      const mirrored = await there.engine.watch("c");
      await mirrored?.next(mirrored.last, AbortSignal.timeout(50));
    }
    const mirrored = await there.engine.watch("c");
    tool.finish();
    await answer;
    while (mirrored && !mirrored.ended) await mirrored.next(mirrored.last, new AbortController().signal);
    expect(mirrored?.after(0).map(bytesOf)).toEqual(own?.after(0).map(bytesOf));
  });

  it("fits into a message in every script", async () => {
    const gate = Promise.withResolvers<void>();
    const run: FixtureTool["run"] = async (_input, context) => {
      for (let percent = 0; percent < 60; percent += 1) context.progress(percent, "漢".repeat(200));
      await gate.promise;
      return "done";
    };
    const { here, there, bus } = await pair("told", {
      id: "gated",
      run,
      conduct: { sideEffects: "external" },
    });
    const sizes: number[] = [];
    bus.subscribe("calls:updates", (message) => void sizes.push(Buffer.byteLength(JSON.stringify(message))));
    const caller = { tenant: "acme", agent: "agent" };
    const { callId } = await here.engine.accept({ tool: "gated", input: {}, caller });
    const own = await here.engine.watch(callId);
    await expect.poll(() => own?.last).toBeGreaterThan(60);
    await there.engine.watch(callId);
    // PostgreSQL takes 8,000 bytes, with the names of sender and channel.
    expect(Math.max(...sizes)).toBeLessThan(7_800);
    gate.resolve();
    await expect.poll(() => own?.ended).toBe(true);
  });
});

describe("a call whose process is silent", () => {
  it.each([
    ["external", "E3909"],
    ["state", "E3107"],
  ] as const)("has its verdict for whoever waits by the same key: %s, %s [D-13]", async (kind, code) => {
    const tool = gated(kind);
    const { here, there, kill } = await pair("told", tool);
    void here.call("gated", {}, { idempotencyKey: "k" });
    await expect.poll(() => tool.begun.length).toBe(1);
    const waiting = there.call("gated", {}, { idempotencyKey: "k" });
    await kill("here");
    expect((await there.engine.standing(tool.begun[0] ?? ""))?.status).toBe("running");
    await there.engine.judgeOrphans();
    expect(errorOf(await waiting).code).toBe(code);
    expect(tool.begun).toHaveLength(1);
    tool.finish();
  });

  it("is not said to be cancelled while it can still succeed [L3-API-2]", async () => {
    const tool = gated("external", { deaf: true });
    const { here, there, kill } = await pair("lost", tool);
    const answer = here.call("gated", {}, { callId: "c" });
    await expect.poll(() => tool.begun.length).toBe(1);
    await kill("here");
    expect(await there.engine.cancelCall("c", { reason: "enough" })).toMatchObject({
      cancelled: false,
      status: "running",
    });
    tool.finish();
    await answer;
  });

  it("has no news any more, so that a watcher goes by the record", async () => {
    const tool = gated("external");
    const { here, there, kill } = await pair("told", tool);
    const answer = here.call("gated", {}, { callId: "c" });
    await expect.poll(() => tool.begun.length).toBe(1);
    const feed = await there.engine.watch("c");
    expect(await there.engine.watch("c", feed)).toBe(feed);
    await kill("here");
    await feed?.next(feed.last, new AbortController().signal);
    expect(await there.engine.watch("c", feed)).toBeUndefined();
    tool.finish();
    await answer;
  });
});
