import { fixtureEngine } from "@sallyport/engine/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { reasonToSkip } from "../../../../scripts/services.ts";
import { AnswerLosingProxy } from "./fixtures/proxy.ts";
import { TestServer } from "./fixtures/server.ts";
import type { PostgresStoreOptions } from "./index.ts";

const reason = reasonToSkip("postgres");
const LONG = { leaseMs: 600_000, renewMs: 200_000 };
const SHORT = { leaseMs: 900, renewMs: 300 };
const caller = { tenant: "acme", agent: "agent" };
const PATIENT = { timeout: 60_000, interval: 20 };

describe.skipIf(reason !== undefined)(`After an outage of PostgreSQL${reason ? ` (${reason})` : ""}`, () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  /** A process on the schema. Its tool writes down what it did, and waits to be let go when it is asked to. */
  async function opened(schema: string, options: Partial<PostgresStoreOptions> = {}, lease = LONG) {
    const store = await server.open(schema, { patienceMs: 0, ...options });
    const ran: string[] = [];
    const gate = Promise.withResolvers<void>();
    const run = async (input: unknown, { callId }: { callId: string }) => {
      ran.push(callId);
      if (input === "wait") await gate.promise;
    };
    const limits = { followMs: 50 };
    const fixture = await fixtureEngine({ store, lease, limits }, [
      { id: "pay", conduct: { sideEffects: "external" }, run },
    ]);
    onTestFinished(() => fixture.engine.close());
    const record = (callId: string) => store.calls.get(callId);
    return { ...fixture, record, ran, letGo: gate.resolve };
  }

  /** One process behind a proxy, and another one that has a line of its own. */
  async function pair(schema: string) {
    const proxy = await AnswerLosingProxy.start(server.service.port);
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const seeing = await opened(schema);
    const connectionString = `postgres://sallyport@127.0.0.1:${proxy.port}/postgres`;
    const cut = await opened(schema, { connectionString });
    /** Does it behind the proxy: the answer to its unit is lost, and the line is away from when the record has it. */
    const losing = async <Result>(shows: () => Promise<unknown>, act: () => Promise<Result>) => {
      const seen = expect.poll(shows, PATIENT).toBe(true);
      const ended = Promise.withResolvers<void>();
      const line = proxy.loseFrom("sallyport_commit", { seen: Promise.resolve(seen), back: ended.promise });
      const result = await act().finally(ended.resolve);
      await line;
      return result;
    };
    return { seeing, cut, losing };
  }

  it.each([
    ["its patience", LONG],
    ["its lease", SHORT],
  ])(
    "longer than %s a call that was under way gets one end, and nothing runs twice [X-21]",
    async (_, lease) => {
      const schema = `killed_${lease.leaseMs}`;
      const [one, other] = [await opened(schema, {}, lease), await opened(schema, {}, lease)];
      const answer = one.call("pay", "wait", { callId: "c", idempotencyKey: "k" });
      await expect.poll(() => one.ran, PATIENT).toEqual(["c"]);
      await server.service.kill();
      if (lease === SHORT)
        await expect.poll(() => one.call("pay", {}), PATIENT).toMatchObject({ error: { code: "E3922" } });
      one.letGo();
      expect((await answer).status).toBe("error");
      await server.service.restart();
      const phase = async () => {
        await Promise.all([one, other].map(({ engine }) => engine.judgeOrphans().catch(() => undefined)));
        return (await one.record("c").catch(() => undefined))?.phase;
      };
      await expect.poll(phase, PATIENT).toMatch(/closed|unknown/);
      // Who has it on record as unknown judged it before the process that knows better came back.
      const word = { callId: "c", as: "completed", by: "ada", note: "seen" } as const;
      const isKnown = (await phase()) === "closed";
      expect(await other.engine.closeByPerson(word)).toMatchObject(
        isKnown ? { code: "E3918" } : { status: "success" },
      );
      const { closing } = (await one.record("c")) ?? {};
      expect(closing?.status).toBe(isKnown && lease === SHORT ? "error" : "success");
      expect([one.ran, other.ran]).toEqual([["c"], []]);
    },
  );

  it("an intent whose answer was lost ends as never begun [X-21]", async () => {
    const { seeing, cut, losing } = await pair("intents");
    const isThere = async () => (await seeing.record("c")) !== undefined;
    const answer = await losing(isThere, () => cut.call("pay", {}, { callId: "c" }));
    expect(answer).toMatchObject({ error: { code: "E3908" } });
    await expect
      .poll(async () => (await seeing.record("c"))?.closing?.answer, PATIENT)
      .toMatchObject({ error: { code: "E3908" } });
    expect(cut.ran).toEqual([]);
  });

  it("an acceptance whose answer was lost runs once, whoever is asked again [X-21]", async () => {
    const { seeing, cut, losing } = await pair("acceptances");
    const order = { tool: "pay", input: {}, caller, idempotencyKey: "k" };
    const size = async () => (await seeing.store.queue.size()) === 1;
    const told = await losing(size, () => cut.engine.accept(order));
    expect(told).toMatchObject({ error: { code: "E3914", details: { unanswered: true } } });
    const again = await seeing.engine.accept(order);
    expect(again.callId).toBe(told.callId);
    await expect
      .poll(async () => (await seeing.record(told.callId))?.closing?.status, PATIENT)
      .toBe("success");
    expect([cut.ran, seeing.ran]).toEqual([[told.callId], []]);
  });

  it("a claim whose commit hung and landed late is taken up by its process [X-21]", async () => {
    const leaving = await opened("claims");
    leaving.engine.adjust({ admission: { total: 1 } });
    void leaving.call("pay", "wait", { callId: "first" });
    await expect.poll(() => leaving.ran, PATIENT).toEqual(["first"]);
    const { callId } = await leaving.engine.accept({ tool: "pay", input: {}, caller });
    await leaving.engine.drain({ withinMs: 0 });
    expect(await leaving.store.queue.size()).toBe(1);
    const late = await opened("claims", { statementTimeoutMs: 500 });
    const standby = async (name: string) => {
      await server.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
      await server.query("SELECT pg_reload_conf()");
    };
    await standby("gone");
    await expect(late.engine.claimQueued()).rejects.toThrow("E3914");
    expect(late.ran).toEqual([]);
    await standby("");
    await expect.poll(async () => (await late.record(callId))?.closing?.status, PATIENT).toBe("success");
    expect(late.ran).toEqual([callId]);
  });
});
