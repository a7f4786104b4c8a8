import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { RawClient, wholeAnswers } from "./fixtures/raw-client.ts";
import { OPERATOR_KEY, openTestDoor } from "./fixtures/test-door.ts";

const GET = "GET /v1/things/a HTTP/1.1\r\nHost: localhost\r\n\r\n";
const HELD = "GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n";
const POST = "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
const QUICK = { settings: { requestSeconds: 0.2 } };

describe("a request that does not arrive in time", () => {
  it.each([
    ["a connection that says nothing", ""],
    ["headers that do not end", "GET /v1/things/a HTTP/1.1\r\nHost: localhost\r\nX-A: "],
    ["a body that stops half way", `${POST}Content-Length: 100\r\n\r\n{"a":`],
    ["chunks that stop half way", `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n`],
  ])("%s is answered with 408 and dropped", async (_, said) => {
    await using test = await openTestDoor(QUICK);
    const client = test.say(said);
    const answer = await client.answer();
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([408, "E3933"]);
    await client.ended;
    expect(test.journal.asked).toEqual([]);
  });

  it("is dropped however busily it goes on, byte by byte", async () => {
    await using test = await openTestDoor(QUICK);
    const client = test.say("GET /v1/things/a HTTP/1.1\r\nHost: localhost\r\n");
    const drip = setInterval(() => client.write("X-A: a\r\n"), 20);
    await client.ended;
    clearInterval(drip);
    expect(wholeAnswers(client.received).map(({ status }) => status)).toEqual([408]);
  });

  it("has no bearing on an answer that takes longer", async () => {
    await using test = await openTestDoor({ settings: { requestSeconds: 2 } });
    const client = test.say(HELD);
    await expect.poll(() => test.journal.held.length).toBe(1);
    await sleep(3_000);
    test.journal.held[0]?.let("late");
    expect((await client.answer()).body).toBe("late");
  });
});

describe("a connection", () => {
  it("is kept for the next request, and closed without a word after its idle time", async () => {
    await using test = await openTestDoor({ settings: { idleSeconds: 1 } });
    const client = test.say(GET);
    expect((await client.answer()).headers).not.toHaveProperty("connection", "close");
    client.write(GET);
    await client.until((text) => wholeAnswers(text).length === 2);
    expect(client.socket.readyState).toBe("open");
    await client.ended;
    expect(wholeAnswers(client.received).map(({ status }) => status)).toEqual([200, 200]);
    // By its end, not by a reset.
    expect([client.socket.readableEnded, client.socket.errored]).toEqual([true, null]);
  });

  it("over the number that is allowed is turned away, and others are served", async () => {
    await using test = await openTestDoor({ settings: { connections: 2 } });
    const first = test.say(HELD);
    const second = test.say(HELD);
    await expect.poll(() => test.journal.held.length).toBe(2);
    const third = test.say(GET);
    await third.ended;
    expect(third.received).toBe("");
    for (const { let: answer } of test.journal.held) answer("ok");
    expect([(await first.answer()).body, (await second.answer()).body]).toEqual(["ok", "ok"]);
  });

  it("gets pipelined answers in their order", async () => {
    await using test = await openTestDoor();
    const client = test.say(`${HELD}${GET}${GET.replace("/a", "/b")}`);
    await expect.poll(() => test.journal.asked.length).toBe(2);
    test.journal.held[0]?.let("first");
    await client.until((text) => wholeAnswers(text).length === 3);
    expect(wholeAnswers(client.received).map(({ body }) => body)).toEqual([
      "first",
      '{"id":"a"}',
      '{"id":"b"}',
    ]);
  });

  it("is refused more when too many wait on it", async () => {
    await using test = await openTestDoor();
    const client = test.say(HELD.repeat(40));
    await expect.poll(() => test.journal.held.length).toBe(8);
    for (const { let: answer } of test.journal.held) answer("ok");
    await client.until((text) => wholeAnswers(text).length === 40);
    const statuses = wholeAnswers(client.received).map(({ status }) => status);
    expect(statuses).toEqual([...Array(8).fill(200), ...Array(32).fill(503)]);
  });

  it("that turns to nonsense is not told so in the place of an answer it waits for", async () => {
    await using test = await openTestDoor();
    const client = test.say(HELD);
    await expect.poll(() => test.journal.held.length).toBe(1);
    client.write("nonsense\r\n\r\n");
    await client.ended;
    expect(client.received).toBe("");
  });

  it("is cut when the client takes nothing of a large answer", async () => {
    await using test = await openTestDoor({ settings: { idleSeconds: 1 } });
    const client = test.say(HELD);
    await expect.poll(() => test.journal.held.length).toBe(1);
    client.socket.pause();
    test.journal.held[0]?.let("x".repeat(32 * 1024 * 1024));
    await expect.poll(() => test.journal.held[0]?.signal.aborted).toBe(true);
  });
});

describe("a refusal before the body is there", () => {
  const LARGE = 64 * 1024 * 1024;

  it("reaches a client that goes on sending, which is then cut off", async () => {
    await using test = await openTestDoor();
    const client = test.say(`${POST}Content-Length: ${LARGE}\r\n\r\n`);
    const answer = await client.answer();
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([413, "E3902"]);
    expect(await client.flood("x".repeat(64 * 1024))).toBeLessThan(LARGE / 2);
    expect(wholeAnswers(client.received)).toHaveLength(1);
  });

  it("leaves the connection to a client that ends what it began", async () => {
    await using test = await openTestDoor();
    const client = test.say(`${POST.replace("/v1/echo", "/nothing")}Content-Length: 10\r\n\r\n`);
    expect((await client.answer()).status).toBe(404);
    client.write(`0123456789${GET}`);
    await client.until((text) => wholeAnswers(text).length === 2);
    expect(wholeAnswers(client.received)[1]).toMatchObject({ status: 200, body: '{"id":"a"}' });
  });

  it("comes instead of 100 Continue", async () => {
    await using test = await openTestDoor({ settings: { callers: "token" } });
    const verify = "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    const client = test.say(`${verify}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`);
    expect((await client.answer()).status).toBe(401);
    expect(client.received).not.toContain("100 Continue");
    const key = `Authorization: Bearer ${OPERATOR_KEY}\r\n`;
    const welcome = test.say(`${verify}${key}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`);
    await welcome.until((text) => text.includes("100 Continue\r\n\r\n"));
    welcome.write("{}");
    await welcome.until((text) => text.includes("HTTP/1.1 201"));
    expect(welcome.received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201/);
  });
});

describe("a client that goes away", () => {
  it("aborts the signal of what it waited for, also of what waits its turn", async () => {
    await using test = await openTestDoor();
    const client = test.say(HELD.repeat(3));
    await expect.poll(() => test.journal.held.length).toBe(3);
    const signals = test.journal.held.map(({ signal }) => signal);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
    client.socket.destroy();
    await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
    for (const { let: answer } of test.journal.held) answer("nobody hears this");
    expect((await test.fetch("/v1/things/a")).status).toBe(200);
    expect(test.lines).toEqual([]);
  });

  it("in the middle of its body runs no handler, and is put on record once", async () => {
    const seen: { requestId: string; status: number; aborted: boolean }[] = [];
    await using test = await openTestDoor({ onAnswer: (answer) => void seen.push(answer) });
    const client = test.say(
      `${POST}X-Request-Id: half\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n`,
    );
    await client.until((text) => text.includes("100 Continue"));
    client.socket.end('{"a":');
    await client.ended;
    await expect.poll(() => seen.length).toBe(1);
    expect(seen).toMatchObject([{ requestId: "half", status: 400, aborted: true }]);
    expect([test.journal.asked, test.lines]).toEqual([[], []]);
  });

  it("ends the stream it was sent", async () => {
    await using test = await openTestDoor();
    const client = test.say("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await client.until((text) => text.includes("data: first"));
    client.socket.destroy();
    await expect.poll(() => test.journal.streams[0]?.destroyed).toBe(true);
  });
});

describe("a client that talks nonsense on and on", () => {
  it("gets its answer, one, and is cut off", async () => {
    await using test = await openTestDoor();
    using client = new RawClient(test.url, { halfOpen: true });
    client.write("nonsense\r\n\r\n");
    const talking = setInterval(() => client.write("nonsense\r\n\r\n"), 20);
    client.socket.pause();
    await sleep(300);
    client.socket.resume();
    expect((await client.answer()).status).toBe(400);
    await client.ended;
    clearInterval(talking);
    expect(wholeAnswers(client.received)).toHaveLength(1);
  });
});
