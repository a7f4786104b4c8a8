import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import { FaultPlan, withFaults } from "../testing/faults.ts";
import { auditOf, errorOf, fixtureEngine } from "../testing/fixture-engine.ts";

const ORDER = { reason: "it used process.spawn", by: "sallyport", callId: "call-1" };

describe("quarantining a tool", () => {
  it("is kept, on record in the engine's chain, and refuses calls until it is released [R3-4] [R2-3]", async () => {
    const { engine, store, call } = await fixtureEngine({}, [{ id: "tool", run: () => 1 }]);
    await engine.tools.quarantine("tool", "1.0.0", ORDER);
    expect(errorOf(await call("tool", {}))).toMatchObject({ code: "E3219" });
    expect(engine.tools.definitions()).toEqual([]);
    expect((await store.tools.changedSince()).changed).toMatchObject([{ quarantine: ORDER }]);
    await engine.tools.release("tool", "1.0.0", { by: "olga", note: "harmless" });
    expect(await call("tool", {})).toMatchObject({ status: "success" });
    expect((await store.tools.changedSince()).changed[0]).not.toHaveProperty("quarantine");
    expect(await auditOf(store, "sallyport")).toMatchObject([
      { change: "registered" },
      {
        state: "TOOL_CHANGED",
        change: "quarantined",
        toolId: "tool",
        toolVersion: "1.0.0",
        word: { by: "sallyport", because: ORDER.reason, callId: "call-1" },
      },
      { change: "released", word: { by: "olga", because: "harmless" } },
    ]);
    await engine.close();
  });

  it("doing it again writes nothing, and a version that is not there is refused", async () => {
    const { engine, store } = await fixtureEngine({}, [{ id: "tool", run: () => 1 }]);
    await engine.tools.release("tool", "1.0.0", { by: "olga", note: "was open" });
    await engine.tools.quarantine("tool", "1.0.0", ORDER);
    const again = await engine.tools.quarantine("tool", "1.0.0", { ...ORDER, reason: "another" });
    expect(again).toMatchObject({ quarantine: { reason: ORDER.reason } });
    expect(await auditOf(store, "sallyport")).toHaveLength(2);
    expect(await engine.tools.quarantine("tool", "9.9.9", ORDER)).toMatchObject({ code: "E3002" });
    await engine.close();
  });

  it("holds at once even when it cannot be written, and is written with the next change [R3-4]", async () => {
    const store = createMemoryStore();
    const lost = {
      method: "commit",
      nth: 2,
      when: "before",
      action: { kind: "reject", error: new Error("lost") },
    } as const;
    const faulty = withFaults(store, new FaultPlan([lost]));
    const { engine, call } = await fixtureEngine({ store: faulty }, [{ id: "tool", run: () => 1 }]);
    await expect(engine.tools.quarantine("tool", "1.0.0", ORDER)).rejects.toThrow("lost");
    expect(errorOf(await call("tool", {}))).toMatchObject({ code: "E3219" });
    await engine.tools.deprecate("tool", "1.0.0", { guidance: "none" });
    expect((await auditOf(store, "sallyport")).map(({ change }) => change)).toEqual([
      "registered",
      "quarantined",
      "deprecated",
    ]);
    await engine.close();
  });
});
