import { describe, expect, it } from "vitest";
import { BODIES, type HostileRequest, SMUGGLING, WIRE } from "./fixtures/hostile-requests.ts";
import { wholeAnswers } from "./fixtures/raw-client.ts";
import { openTestDoor } from "./fixtures/test-door.ts";

describe.each([
  ["body", BODIES],
  ["request", WIRE],
  ["smuggled request", SMUGGLING],
])("a hostile %s", (_kind, requests) => {
  it.each(requests)("%s is answered and does no harm", async (...[, bytes, status, code]: HostileRequest) => {
    await using test = await openTestDoor();
    const client = test.say(bytes);
    const answer = await client.answer();
    if (status === undefined) expect(answer.status).toBeOneOf([400, 413]);
    else expect(answer.status).toBe(status);
    const problem = JSON.parse(answer.body);
    expect(problem).toMatchObject({ status: answer.status, ...(code && { code }) });
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
    expect(answer.headers["x-request-id"]).toBeTruthy();
    expect(answer.body).not.toMatch(/node:|\.ts\b|at \w+ \(/);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    expect(test.journal.asked).toEqual([]);
    expect(wholeAnswers(client.received).filter(({ status: got }) => got < 400)).toEqual([]);
    expect((await test.fetch("/v1/things/a")).status).toBe(200);
    expect(test.lines).toEqual([]);
  });
});

describe("unusual but sound requests", () => {
  it.each([
    ["a type with parameters", "Content-Type: application/json; charset=UTF-8\r\n"],
    ["a type of the JSON family", "Content-Type: application/cloudevents+json\r\n"],
    ["a type in capitals", "CONTENT-TYPE: Application/JSON\r\n"],
  ])("%s is taken", async (_, type) => {
    await using test = await openTestDoor();
    const head = `POST /v1/echo HTTP/1.1\r\nHost: localhost:1\r\n${type}`;
    const { status } = await test.say(`${head}Content-Length: 2\r\n\r\n{}`).answer();
    expect(status).toBe(200);
  });

  it.each(["127.0.0.1:7420", "127.9.8.7", "LOCALHOST", "[::1]:80", "localhost."])(
    "Host: %s",
    async (host) => {
      await using test = await openTestDoor();
      const { status } = await test.say(`GET /v1/things/a HTTP/1.1\r\nHost: ${host}\r\n\r\n`).answer();
      expect(status).toBe(200);
    },
  );

  it("chunks are put together", async () => {
    await using test = await openTestDoor();
    const head = "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    const said = test.say(`${head}Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n`);
    expect((await said.answer()).body).toBe('{"a":1}');
  });

  it("an upgrade that nobody offers is passed over", async () => {
    await using test = await openTestDoor();
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    const client = test.say(`GET /v1/things/a HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n`);
    expect((await client.answer()).status).toBe(200);
  });

  it.each(["*", "/v1/echo"])("OPTIONS %s says what there is", async (target) => {
    await using test = await openTestDoor();
    const answer = await test.say(`OPTIONS ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`).answer();
    expect(answer.status).toBe(204);
    expect(answer.headers.allow).toContain("POST");
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });
});
