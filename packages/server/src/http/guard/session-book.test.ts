import { createMemoryStore } from "@sallyport/engine";
import { describe, expect, it } from "vitest";
import { OperatorKeyCheck } from "./operator-key-check.ts";
import { SessionBook } from "./session-book.ts";

describe("sessions", () => {
  it("cannot be guessed, nor told from what names them", async () => {
    const book = new SessionBook(createMemoryStore());
    const { token, session } = await book.open("ana");
    expect(token).toMatch(/^sps_[\w-]{43}$/);
    expect(await book.find(token)).toEqual(session);
    expect(await book.find(session.id)).toBeUndefined();
    expect(JSON.stringify(session)).not.toContain(token.slice(4));
  });

  it("are known to every process on the store, which has no secret of theirs, and end for all", async () => {
    const store = createMemoryStore();
    const [here, there] = [new SessionBook(store), new SessionBook(store)];
    const { token, session } = await here.open("ana");
    expect(await there.find(token)).toEqual(session);
    expect(JSON.stringify(await store.records.list("session", { limit: 10 }))).not.toContain(token);
    await there.end(session.id);
    expect([await here.find(token), await here.has(session.id)]).toEqual([undefined, false]);
  });

  it("are so many at most; with one more the oldest ends", async () => {
    let now = Date.now();
    const book = new SessionBook(createMemoryStore(), { most: 3, now: () => now });
    const names: (string | undefined)[] = [];
    const tokens: string[] = [];
    for (const name of ["a", "b", "c", "d"]) {
      tokens.push((await book.open(name)).token);
      now += 1;
    }
    for (const token of tokens) names.push((await book.find(token))?.name);
    expect(names).toEqual([undefined, "b", "c", "d"]);
  });

  it("last eight hours", async () => {
    let now = Date.now();
    const book = new SessionBook(createMemoryStore(), { now: () => now });
    expect(book.lifeMs).toBe(8 * 60 * 60 * 1_000);
    const { token } = await book.open("a");
    now += book.lifeMs - 1;
    expect(await book.find(token)).toBeDefined();
    now += 1;
    expect(await book.find(token)).toBeUndefined();
  });
});

describe("wrong operator keys", () => {
  it("are counted also where the clock of the store is ahead", async () => {
    const store = createMemoryStore({ clock: { now: () => Date.now() + 60_000 } });
    const check = new OperatorKeyCheck(`spo_${"k".repeat(43)}`, store);
    const codes = [];
    for (let tries = 0; tries < 15; tries += 1)
      codes.push((await check.check("spo_wrong", "10.0.0.1"))?.code);
    expect(codes).toContain("E3941");
  });

  it("are counted by all processes on the store together", async () => {
    const store = createMemoryStore();
    const key = `spo_${"k".repeat(43)}`;
    const processes = [1, 2, 3].map(() => new OperatorKeyCheck(key, store));
    const tries = Array.from({ length: 30 }, (_, n) => processes[n % 3]?.check("spo_wrong", "10.0.0.1"));
    const codes = (await Promise.all(tries)).map((refused) => refused?.code);
    expect(codes.filter((code) => code === "E3939").length).toBeLessThanOrEqual(10);
    expect(codes.filter((code) => code === "E3941").length).toBeGreaterThanOrEqual(20);
    expect(processes.map((each) => each.check(key, "10.0.0.1"))).toEqual([undefined, undefined, undefined]);
  });
});
