import { describe, expect, it } from "vitest";
import { Admission, type Slot } from "./admission.ts";

function request(agent: string, more: { priority?: "low" | "normal" | "high"; signal?: AbortSignal } = {}) {
  const { priority = "normal", signal } = more;
  return { tenant: "acme", agent, tool: "t", priority, signal } as const;
}

async function placed(entered: ReturnType<Admission["enter"]>): Promise<Slot> {
  const slot = await entered;
  if ("code" in slot) throw new Error(slot.message);
  return slot;
}

async function refused(entered: ReturnType<Admission["enter"]>): Promise<string> {
  const result = await entered;
  return "code" in result ? result.code : "placed";
}

describe("admission", () => {
  it("lets four calls of one agent run at once and refuses the fifth after its wait [L3-EXE-4]", async () => {
    const admission = new Admission({ maxWaitMs: 10 });
    for (let index = 0; index < 4; index += 1) await placed(admission.enter(request("a")));
    expect(await refused(admission.enter(request("a")))).toBe("E3106");
    expect(await refused(admission.enter(request("b")))).toBe("placed");
  });

  it("names agent and tenant apart when it refuses, as whoever reads it knows them [L3-EXE-4]", async () => {
    const admission = new Admission({ perAgent: 1, maxWaitMs: 5 });
    await placed(admission.enter(request("bob")));
    const ofAnotherTenant = { ...request("bob"), tenant: "acm" };
    expect(await refused(admission.enter(ofAnotherTenant))).toBe("placed");
    expect(await admission.enter(request("bob"))).toMatchObject({
      code: "E3106",
      message: "Agent bob already runs 1 call (waited too long).",
      details: { agent: "bob", tenant: "acme", tool: "t", limit: "agent", retryAfterMs: 1_000 },
    });
  });

  it("hands a freed place to whoever waits [R1-7.1]", async () => {
    const admission = new Admission({ total: 1 });
    const first = await placed(admission.enter(request("a")));
    const second = placed(admission.enter(request("b")));
    expect(admission.waiting).toBe(1);
    first.release();
    first.release();
    (await second).release();
    expect([admission.running, admission.waiting]).toEqual([0, 0]);
  });

  it("takes the more urgent first, and lets none starve", async () => {
    let now = 0;
    const admission = new Admission({ total: 1, agingMs: 100 }, () => now);
    const order: string[] = [];
    const first = await placed(admission.enter(request("x")));
    const enter = (name: string, priority: "low" | "normal" | "high") =>
      placed(admission.enter(request(name, { priority }))).then((slot) => {
        order.push(name);
        slot.release();
      });
    const old = enter("old low", "low");
    now = 350;
    const rest = [enter("normal", "normal"), enter("high", "high"), enter("low", "low")];
    first.release();
    await Promise.all([old, ...rest]);
    expect(order).toEqual(["old low", "high", "normal", "low"]);
  });

  it("does not let a late call pass one that could run already", async () => {
    const admission = new Admission({ total: 2, perAgent: 1 });
    const a = await placed(admission.enter(request("a")));
    await placed(admission.enter(request("b")));
    const waiting = placed(admission.enter(request("c")));
    a.release();
    await waiting;
    expect(admission.running).toBe(2);
  });

  it("refuses at once when the queue is full [R1-5.1]", async () => {
    const admission = new Admission({ total: 1, queue: 1, maxWaitMs: 20 });
    await placed(admission.enter(request("a")));
    const waiting = refused(admission.enter(request("b")));
    expect(await refused(admission.enter(request("c")))).toBe("E3910");
    expect(await waiting).toBe("E3910");
  });

  it("holds each tool to its own limit, which may change while calls wait [AX-POL-1]", async () => {
    let now = 0;
    let most = 1;
    const limits = { perToolOf: (tool: string) => (tool === "t" ? most : undefined), queue: 1 };
    const admission = new Admission({ total: 3, ...limits }, () => now);
    await placed(admission.enter(request("a")));
    const waiting = placed(admission.enter(request("b")));
    expect(await refused(admission.enter({ ...request("b"), tool: "other" }))).toBe("placed");
    now = 2_500;
    expect(await admission.enter(request("c"))).toMatchObject({
      code: "E3910",
      message: "t already runs 1 call (queue full).",
      details: { tool: "t", limit: "tool", retryAfterMs: 2_500 },
    });
    most = 2;
    admission.adjust({ perToolOf: limits.perToolOf });
    await waiting;
    expect(admission.running).toBe(3);
  });

  it("says of a full house when to come again", async () => {
    const admission = new Admission({ total: 1, queue: 0 });
    await placed(admission.enter(request("a")));
    const details = { limit: "total", retryAfterMs: 1_000 };
    expect(await admission.enter(request("b"))).toMatchObject({ code: "E3910", details });
  });

  it("gives up the wait of a cancelled call", async () => {
    const admission = new Admission({ total: 1 });
    await placed(admission.enter(request("a")));
    const controller = new AbortController();
    const waiting = refused(admission.enter(request("b", { signal: controller.signal })));
    controller.abort();
    expect(await waiting).toBe("E3906");
    expect(admission.waiting).toBe(0);
    expect(await refused(admission.enter(request("c", { signal: controller.signal })))).toBe("E3906");
  });

  it("keeps no trace of agents that have gone", async () => {
    const admission = new Admission();
    for (let index = 0; index < 1_000; index += 1)
      (await placed(admission.enter(request(`a${index}`)))).release();
    expect(admission.running).toBe(0);
  });
});
