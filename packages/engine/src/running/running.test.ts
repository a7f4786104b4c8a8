import { describe, expect, it } from "vitest";
import { fixtureEngine } from "../testing/fixture-engine.ts";

/** A tool whose calls say that they have begun, and end when they are told to. */
function gated(id: string, conduct?: object) {
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const run = async (_: unknown, { callId }: { callId: string }) => {
    begun.push(callId);
    await gate.promise;
    return "done";
  };
  return { id, run, begun, finish: gate.resolve, ...(conduct && { conduct }) };
}

describe("the calls that run now", () => {
  it("are listed newest first, with what is known of them, until they end [L3-EXE-5]", async () => {
    const look = gated("look");
    const { call, engine } = await fixtureEngine({}, [look]);
    const before = Date.now();
    const calls = [call("look", {}, { callId: "a" }), call("look", {}, { callId: "b" })];
    await expect.poll(() => look.begun).toEqual(["a", "b"]);
    const listed = engine.running();
    expect(listed).toMatchObject([
      { callId: "b" },
      {
        callId: "a",
        ...{ tenant: "acme", agent: "agent", tool: "look", version: "1.0.0", operation: "run" },
        ...{ state: "EXECUTING", onRecord: false },
      },
    ]);
    expect(listed[1]?.startedAt).toBeGreaterThanOrEqual(before);
    look.finish();
    await Promise.all(calls);
    expect(engine.running()).toEqual([]);
  });

  it("are found by tenant, agent and tool", async () => {
    const look = gated("look");
    const { call, engine } = await fixtureEngine({}, [look]);
    const calls = [
      call("look", {}, { callId: "a" }),
      call("look", {}, { callId: "b", caller: { tenant: "other", agent: "agent" } }),
    ];
    await expect.poll(() => look.begun).toHaveLength(2);
    const found = (filter: Parameters<typeof engine.running>[0]) =>
      engine.running(filter).map(({ callId }) => callId);
    expect(found({ tenant: "other" })).toEqual(["b"]);
    expect(found({ tenant: "acme", agent: "agent" })).toEqual(["a"]);
    expect(found({ agent: "nobody" })).toEqual([]);
    expect(found({ tool: "look" })).toEqual(["b", "a"]);
    expect(found({ tool: "other" })).toEqual([]);
    look.finish();
    await Promise.all(calls);
  });

  it("say whether the journal has them already: with an intent, a question, or a place in the queue", async () => {
    const pay = gated("pay", { sideEffects: "external" });
    const look = gated("look");
    const { call, engine } = await fixtureEngine({}, [pay, look]);
    const caller = { tenant: "acme", agent: "agent" };
    const stop = new AbortController();
    const calls = [
      call("pay", {}, { callId: "intent" }),
      call("look", {}, { callId: "asked", requireApproval: true, onApproval: "wait", signal: stop.signal }),
      engine.accept({ tool: "look", input: {}, caller, callId: "queued" }),
    ];
    await expect.poll(() => [...pay.begun, ...look.begun]).toEqual(["intent", "queued"]);
    await expect.poll(async () => (await engine.standing("asked"))?.status).toBe("pending_approval");
    expect(engine.running().map(({ callId, onRecord }) => [callId, onRecord])).toEqual(
      expect.arrayContaining([
        ["intent", true],
        ["asked", true],
        ["queued", true],
      ]),
    );
    stop.abort();
    pay.finish();
    look.finish();
    await Promise.all(calls);
    await engine.close();
  });

  it("stand with when they began, and as what, though the journal has nothing of them [L3-API-2]", async () => {
    const look = gated("look");
    const { call, engine } = await fixtureEngine({}, [look]);
    const before = Date.now();
    const answer = call("look", {}, { callId: "a" });
    await expect.poll(() => look.begun).toEqual(["a"]);
    const standing = await engine.standing("a");
    expect(standing).toMatchObject({
      status: "running",
      now: { version: "1.0.0", operation: "run", state: "EXECUTING", startedAt: expect.any(Number) },
    });
    if (standing && "now" in standing) expect(standing.now.startedAt).toBeGreaterThanOrEqual(before);
    look.finish();
    await answer;
  });
});
