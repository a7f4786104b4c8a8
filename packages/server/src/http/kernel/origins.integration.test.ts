import { describe, expect, it } from "vitest";
import { openTestDoor, type TestDoor } from "./fixtures/test-door.ts";

const PAGE = "https://console.example";

async function ask(test: TestDoor, headers: Record<string, string>, method = "GET", path = "/v1/things/a") {
  const lines = Object.entries({ Host: "localhost:7420", ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const client = test.say(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  const answer = await client.answer();
  client.socket.destroy();
  return answer;
}

describe("a page of another origin", () => {
  it.each([
    ["another site", { Origin: "https://evil.example" }],
    ["another port of this machine", { Origin: "http://localhost:3000" }],
    ["another scheme", { Origin: "https://localhost:7420" }],
    ["no origin that could be named", { Origin: "null" }],
    ["a site that begins like ours", { Origin: "http://localhost:7420.evil.example" }],
    ["a part of another site's page", { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" }],
    ["a part of a neighbour's page", { "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors" }],
  ])("is refused: %s", async (_, headers) => {
    await using test = await openTestDoor();
    const answer = await ask(test, headers);
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([403, "E3937"]);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect(test.journal.asked).toEqual([]);
  });

  it("cannot ask beforehand either, nor reach the door by a name of its own", async () => {
    await using test = await openTestDoor();
    const before = { Origin: PAGE, "Access-Control-Request-Method": "POST" };
    expect((await ask(test, before, "OPTIONS", "/v1/echo")).status).toBe(403);
    const rebound = { Host: "evil.example:7420", Origin: "http://evil.example:7420" };
    expect((await ask(test, rebound)).status).toBe(421);
  });

  it("may call when the configuration names it, without cookies", async () => {
    await using test = await openTestDoor({ settings: { allowedOrigins: [PAGE] } });
    const answer = await ask(test, { Origin: PAGE });
    expect(answer.status).toBe(200);
    expect(answer.headers["access-control-allow-origin"]).toBe(PAGE);
    expect(answer.headers.vary).toBe("Origin");
    expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
    const refused = await ask(test, { Origin: PAGE }, "GET", "/nothing");
    expect(refused.headers["access-control-allow-origin"]).toBe(PAGE);
    const before = { Origin: PAGE, "Access-Control-Request-Method": "POST" };
    const preflight = await ask(test, before, "OPTIONS", "/v1/echo");
    expect(preflight.status).toBe(204);
    expect(preflight.headers["access-control-allow-methods"]).toBe("POST, OPTIONS");
    expect(preflight.headers["access-control-allow-headers"]).toContain("Authorization");
    expect((await ask(test, { Origin: "https://evil.example" })).status).toBe(403);
  });
});

describe("pages and programs of one's own", () => {
  it.each([
    ["a program", {}],
    ["the door's own page", { Origin: "http://localhost:7420" }],
    ["a link from elsewhere", { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" }],
    ["an own page that loads a part", { "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors" }],
  ])("are served: %s", async (_, headers) => {
    await using test = await openTestDoor();
    expect((await ask(test, headers)).status).toBe(200);
  });

  it("are known by the public address too, which also stands in links", async () => {
    const publicUrl = "https://gate.example/";
    await using test = await openTestDoor({ settings: { callers: "token", publicUrl } });
    const headers = { Host: "gate.example", Origin: "https://gate.example" };
    expect((await ask(test, headers)).status).toBe(200);
    expect(test.journal.asked[0]?.origin).toBe("https://gate.example");
  });

  it("may be known by further names", async () => {
    await using test = await openTestDoor({
      settings: { callers: "token", allowedHosts: ["gate.internal"] },
    });
    expect((await ask(test, { Host: "gate.internal:80" })).status).toBe(200);
    expect((await ask(test, { Host: "other.internal" })).status).toBe(421);
  });
});
