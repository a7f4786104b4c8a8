import { CHANNELS } from "@sallyport/engine/ports";
import { busContract } from "@sallyport/engine/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { reasonToSkip, type StartedService, startService } from "../../../../scripts/services.ts";
import { openPostgresBus } from "./bus.ts";

const reason = reasonToSkip("postgres");
let postgres: StartedService;

const url = () => `postgres://sallyport:pa55word@127.0.0.1:${postgres.port}/postgres`;

async function query(text: string, values: unknown[] = []): Promise<number> {
  const client = new pg.Client({ connectionString: url() });
  await client.connect();
  const { rowCount } = await client.query(text, values);
  await client.end();
  return rowCount ?? 0;
}

/** Notifies until the listeners of a bus have heard it. */
async function untilHeard(heard: { readonly size: number }): Promise<void> {
  const ours = JSON.stringify({ from: "x", channel: "policy:updates", message: { n: 1 } });
  await vi.waitFor(
    async () => {
      await query("SELECT pg_notify('sallyport', $1)", [ours]);
      expect(heard.size).toBeGreaterThan(0);
    },
    { timeout: 30_000 },
  );
}

function cutAll(): Promise<number> {
  return query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sallyport-bus'",
  );
}

describe.skipIf(reason !== undefined)(`PostgreSQL${reason ? ` (${reason})` : ""}`, () => {
  beforeAll(async () => {
    postgres = await startService("postgres");
  });
  afterAll(() => postgres?.[Symbol.asyncDispose]());

  busContract("the bus over LISTEN and NOTIFY", async () => {
    const buses = [0, 1, 2].map(() => openPostgresBus({ connectionString: url() }));
    return {
      buses,
      cut: async () => void (await cutAll()),
      [Symbol.asyncDispose]: async () =>
        void (await Promise.all(buses.map((bus) => bus[Symbol.asyncDispose]()))),
    };
  });

  it("is heard by the processes on the same schema only", async () => {
    await using bus = openPostgresBus({ connectionString: url(), schema: "one" });
    await using same = openPostgresBus({ connectionString: url(), schema: "one" });
    await using other = openPostgresBus({ connectionString: url() });
    const [heard, strange] = [new Set<unknown>(), new Set<unknown>()];
    same.subscribe("policy:updates", ({ n }) => void heard.add(n));
    other.subscribe("policy:updates", ({ n }) => void strange.add(n));
    await untilHeard(strange);
    await vi.waitFor(
      () => {
        bus.publish("policy:updates", { n: 2 });
        expect([...heard]).toContain(2);
      },
      { timeout: 30_000 },
    );
    expect([...strange]).not.toContain(2);
  });

  it("tells on every channel that something may have changed, once it is connected again", async () => {
    await using bus = openPostgresBus({ connectionString: url() });
    const heard = new Set<string>();
    for (const channel of CHANNELS)
      bus.subscribe(channel, (message) => void heard.add(channel + JSON.stringify(message)));
    // Only a connection that listened can be lost.
    await untilHeard(heard);
    expect(await cutAll()).toBeGreaterThan(0);
    const wanted = CHANNELS.map((channel) => `${channel}{}`);
    await vi.waitFor(() => expect(wanted.filter((one) => !heard.has(one))).toEqual([]), { timeout: 30_000 });
  });

  it("passes over what other programs send on its channel", async () => {
    const heard: unknown[] = [];
    await using bus = openPostgresBus({ connectionString: url() });
    bus.subscribe("policy:updates", (message) => void heard.push(message));
    const ours = JSON.stringify({ from: "x", channel: "policy:updates", message: { n: 1 } });
    await vi.waitFor(
      async () => {
        for (const text of [
          "",
          "no json",
          "[]",
          "null",
          '{"from":1}',
          '{"from":"x","channel":"y","message":{}}',
          ours,
        ])
          await query("SELECT pg_notify('sallyport', $1)", [text]);
        expect(heard.length).toBeGreaterThan(0);
      },
      { timeout: 30_000 },
    );
    expect(new Set(heard.map((message) => JSON.stringify(message)))).toEqual(new Set(['{"n":1}']));
  });

  it("says what is wrong while there is no server, without the password, and connects once there is", async () => {
    const problems: string[] = [];
    await postgres.kill();
    await using bus = openPostgresBus({
      connectionString: url(),
      onProblem: (problem) => problems.push(problem),
    });
    await using other = openPostgresBus({ connectionString: url() });
    const heard: unknown[] = [];
    other.subscribe("policy:updates", (message) => void heard.push(message));
    await vi.waitFor(() => expect(problems.length).toBeGreaterThan(0), { timeout: 30_000 });
    await postgres.restart();
    await vi.waitFor(
      () => {
        bus.publish("policy:updates", {});
        expect(heard.length).toBeGreaterThan(0);
      },
      { timeout: 60_000, interval: 100 },
    );
    expect(problems.join()).toContain("ECONNREFUSED");
    expect(problems.join()).not.toContain("pa55word");
  });
});
