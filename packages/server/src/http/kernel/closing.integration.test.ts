import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { SallyportError } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { RawClient, wholeAnswers } from "./fixtures/raw-client.ts";
import { openTestDoor } from "./fixtures/test-door.ts";

const GET = "GET /v1/things/a HTTP/1.1\r\nHost: localhost\r\n\r\n";
const HELD = "GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n";
const STREAM = "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n";

describe("a door that closes", () => {
  it("lets what runs finish, and takes nothing more", async () => {
    await using test = await openTestDoor();
    const client = test.say(HELD);
    await expect.poll(() => test.journal.held.length).toBe(1);
    const silent = test.say("");
    const halfway = test.say("GET / HT");
    // Accepted after the other two, so that those are accepted too once it is answered.
    const idle = test.say(GET);
    await idle.answer();
    const closed = test.door.close({ withinMs: 20_000 });
    await Promise.all([idle.ended, silent.ended, halfway.ended]);
    using late = new RawClient(test.url);
    await late.ended;
    expect(late.received).toBe("");
    test.journal.held[0]?.let("done");
    await client.ended;
    const [answer] = wholeAnswers(client.received);
    expect([answer?.body, answer?.headers.connection]).toEqual(["done", "close"]);
    await closed;
  });

  it("refuses what comes on a connection that still waits for an answer", async () => {
    await using test = await openTestDoor();
    const client = test.say(HELD);
    await expect.poll(() => test.journal.held.length).toBe(1);
    test.door.stopAccepting();
    client.write(`${GET}${GET}`);
    await sleep(50);
    test.journal.held[0]?.let("done");
    await client.ended;
    expect(wholeAnswers(client.received).map(({ body }) => body)).toEqual(["done"]);
    expect(test.journal.asked).toEqual([]);
  });

  it("cuts off what does not finish in time, and tells its handler", async () => {
    await using test = await openTestDoor();
    const client = test.say(HELD);
    await expect.poll(() => test.journal.held.length).toBe(1);
    const startedAt = performance.now();
    await test.door.close({ withinMs: 200 });
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(test.journal.held[0]?.signal.aborted).toBe(true);
    await client.ended;
    expect(client.received).toBe("");
  });

  it("asks streams to end instead of waiting for them", async () => {
    await using test = await openTestDoor();
    const client = test.say(STREAM);
    await client.until((text) => text.includes("data: first"));
    await test.door.close({ withinMs: 20_000 });
    await client.ended;
    expect(client.received).toMatch(/\r\n0\r\n\r\n$/);
  });

  it("is closed once however often it is told to", async () => {
    await using test = await openTestDoor();
    const client = test.say(HELD);
    await expect.poll(() => test.journal.held.length).toBe(1);
    const closings = [test.door.close({ withinMs: 0 }), test.door.close()];
    expect(await Promise.all(closings)).toEqual([undefined, undefined]);
    expect(test.journal.held[0]?.signal.aborted).toBe(true);
    await client.ended;
    await test.door.close();
    expect(() => test.door.stopAccepting()).not.toThrow();
    await expect(fetch(test.url)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });
});

describe("a door that cannot be opened", () => {
  it("says why, and leaves nothing open", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const taken = other.address();
    const port = typeof taken === "object" && taken ? taken.port : 0;
    const opening = openTestDoor({ settings: { port } });
    await expect(opening).rejects.toMatchObject({
      failure: { code: "E3943", message: `127.0.0.1:${port} cannot be used: another program uses it.` },
    });
    await new Promise((resolve) => other.close(resolve));
  });

  it("is one that others could reach and that asks nobody who they are", async () => {
    const opening = openTestDoor({ settings: { host: "0.0.0.0" } });
    await expect(opening).rejects.toThrow(SallyportError);
    await expect(opening).rejects.toMatchObject({ failure: { code: "E3919" } });
  });
});

describe("twenty doors, used well and badly", () => {
  it("leave no handle, timer or file descriptor behind", async () => {
    const descriptors = () => readdirSync("/proc/self/fd").length;
    const round = async () => {
      await using test = await openTestDoor();
      const clients = [GET, HELD, STREAM, "nonsense\r\n\r\n", "GET / HT", ""].map((said) => test.say(said));
      await clients[0]?.answer();
      await clients[3]?.answer();
      await expect.poll(() => test.journal.held.length + test.journal.streams.length).toBe(2);
      await test.door.close({ withinMs: 10 });
      await Promise.all(clients.map(({ ended }) => ended));
    };
    await round();
    await sleep(50);
    const before = { resources: process.getActiveResourcesInfo(), descriptors: descriptors() };
    for (let count = 0; count < 20; count += 1) await round();
    const left = () => surplus(process.getActiveResourcesInfo(), before.resources);
    for (let wait = 0; wait < 800; wait += 1) {
      if (left().length === 0 && descriptors() <= before.descriptors) break;
      await sleep(25);
    }
    expect(left()).toEqual([]);
    expect(descriptors()).toBeLessThanOrEqual(before.descriptors);
  });
});

/** What there is more of than before. */
function surplus(after: readonly string[], before: readonly string[]): string[] {
  const left = [...before];
  return after.filter((name) => {
    const at = left.indexOf(name);
    if (at !== -1) left.splice(at, 1);
    return at === -1 && name !== "Immediate";
  });
}
