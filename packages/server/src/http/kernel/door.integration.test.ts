import { describe, expect, it } from "vitest";
import { OPERATOR_KEY, openTestDoor } from "./fixtures/test-door.ts";
import type { Problem, SeenAnswer } from "./index.ts";

/** A problem's body, which says its own status. */
async function problem(answer: Response): Promise<Problem> {
  const said = (await answer.json()) as Problem;
  expect(said.status).toBe(answer.status);
  return said;
}

describe("a route", () => {
  it("gets its parts as it was promised them and is answered as JSON", async () => {
    await using test = await openTestDoor();
    const answer = await test.postJson("/v1/echo", '{"a":[1,"ü"]}', { prefer: "respond-async" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await answer.json()).toEqual({ a: [1, "ü"] });
    const [asked] = test.journal.asked;
    expect(asked?.headers.prefer).toBe("respond-async");
    expect(asked?.origin).toBe(test.url);
    expect(asked?.principal).toEqual({ kind: "anyone" });
    expect(asked?.requestId).toBe(answer.headers.get("x-request-id"));
  });

  it("is found by its verb, also where the id holds a colon", async () => {
    await using test = await openTestDoor();
    const cancelled = await test.fetch("/v1/things/a:b:cancel", { method: "POST" });
    expect(await cancelled.json()).toEqual({ cancelled: "a:b" });
    expect(await (await test.fetch("/v1/things/a%2Fb?page=3")).json()).toEqual({ id: "a/b", page: "3" });
  });

  it("with wrong parts is refused with every wrong place [L3-API-1]", async () => {
    await using test = await openTestDoor();
    const refused = await problem(await test.fetch("/v1/things/%20?page=x"));
    expect(refused).toMatchObject({ status: 400, code: "E3903" });
    expect(refused.issues?.map(({ path }) => path)).toEqual(["path/id", "query/page"]);
    expect(await problem(await test.postJson("/v1/echo", "[]"))).toMatchObject({ code: "E3903" });
    expect(await problem(await test.fetch("/v1/echo", { method: "POST" }))).toMatchObject({ code: "E3903" });
    expect(test.journal.asked).toEqual([]);
  });

  it("that reads answers HEAD like GET, without a body", async () => {
    await using test = await openTestDoor();
    const head = await test.fetch("/docs", { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "8", ""]);
    expect((await test.fetch("/stream", { method: "HEAD" })).status).toBe(200);
  });

  it("needs no body when one is announced and not sent", async () => {
    await using test = await openTestDoor();
    const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": "0" };
    const answer = await test.fetch("/v1/things/a:cancel", { method: "POST", headers, body: "" });
    expect(answer.status).toBe(200);
  });
});

describe("a request without a route", () => {
  it.each([
    ["GET", "/v1/nothing", 404, "E3930", null],
    ["GET", "/v1/echo/", 404, "E3930", null],
    ["GET", "//v1/echo", 404, "E3930", null],
    ["GET", "/V1/ECHO", 404, "E3930", null],
    ["GET", "/v1/../v1/echo", 404, "E3930", null],
    ["PUT", "/v1/echo", 405, "E3931", "POST, OPTIONS"],
    ["POST", "/docs", 405, "E3931", "GET, HEAD, OPTIONS"],
    ["DELETE", "/v1/things/a:cancel", 405, "E3931", "GET, HEAD, POST, OPTIONS"],
    ["GET", "/v1/things/new", 405, "E3931", "POST, OPTIONS"],
    ["PROPFIND", "/docs", 405, "E3931", "GET, HEAD, OPTIONS"],
  ])("%s %s is refused with %i", async (method, path, status, code, allow) => {
    await using test = await openTestDoor();
    const client = test.say(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const answer = await client.answer();
    expect([answer.status, answer.headers.allow ?? null]).toEqual([status, allow]);
    expect(JSON.parse(answer.body)).toMatchObject({ status, code });
  });
});

describe("a problem [L3-API-1]", () => {
  it("says what the catalogue says, and names its occurrence", async () => {
    await using test = await openTestDoor();
    const answer = await test.fetch("/trouble/failure", { headers: { "x-request-id": "r-1" } });
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.headers.get("x-request-id")).toBe("r-1");
    expect(await answer.json()).toEqual({
      type: "/docs/errors#E3917",
      title: "No such call",
      status: 404,
      detail: "There is no call c-1.",
      instance: "urn:sallyport:request:r-1",
      code: "E3917",
      advice: "Use the id of a call that this tenant made.",
      retryable: false,
    });
    expect(test.lines).toEqual([]);
  });

  it("says when to come back", async () => {
    await using test = await openTestDoor();
    const busy = await test.fetch("/trouble/busy");
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([503, "3"]);
  });

  it.each(["defect", "rejects", "cycle", "header"])(
    "of a defect (%s) tells the client nothing and the log everything, once",
    async (name) => {
      await using test = await openTestDoor();
      const answer = await test.fetch(`/trouble/${name}`);
      const text = await answer.text();
      expect(answer.status).toBe(500);
      expect(answer.headers.get("x-bad")).toBeNull();
      expect(JSON.parse(text)).toMatchObject({ code: "E3900", title: "Internal error" });
      expect(text).not.toMatch(/secret|\.ts|stack|circular/i);
      expect(text).toContain(answer.headers.get("x-request-id"));
      expect(test.lines.map(({ level }) => level)).toEqual(["error"]);
      expect(test.lines[0]?.fields).toMatchObject({ err: expect.any(Error) });
    },
  );

  it("that comes in the middle of a stream breaks the answer off", async () => {
    await using test = await openTestDoor();
    const answer = await test.fetch("/trouble/stream");
    await expect(answer.text()).rejects.toThrow();
    expect(test.lines.map(({ level }) => level)).toEqual(["warn"]);
  });
});

describe("every answer", () => {
  it("carries the security headers", async () => {
    await using test = await openTestDoor();
    for (const path of ["/v1/things/a", "/v1/nothing", "/trouble/defect", "/%zz", "/docs"]) {
      const { headers } = await test.fetch(path);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("strict-transport-security")).toBeNull();
    }
    const page = await test.fetch("/docs");
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await page.text()).toBe("<p>Über");
  });

  it("names its request, by the sender's name if that is a sane one", async () => {
    await using test = await openTestDoor();
    const named = async (id: string) =>
      (await test.fetch("/v1/things/a", { headers: { "x-request-id": id } })).headers.get("x-request-id");
    expect(await named("abc:1.2_3-4")).toBe("abc:1.2_3-4");
    const insane = await Promise.all(["a b", "{}", "-x", "x".repeat(200)].map(named));
    expect(new Set(insane).size).toBe(4);
    expect(insane).toEqual(Array(4).fill(expect.stringMatching(/^[0-9a-f]{24}-\w+$/)));
  });
});

describe("what a handler sees of the headers", () => {
  const PARENT = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

  it("has no credentials, and trace context only where it holds", async () => {
    await using test = await openTestDoor();
    const headers = { authorization: `Bearer ${OPERATOR_KEY}`, cookie: "other=1", tracestate: "a=b" };
    await test.fetch("/v1/things/a", { headers: { ...headers, traceparent: PARENT } });
    await test.fetch("/v1/things/a", { headers: { ...headers, traceparent: `${PARENT}0` } });
    const [good, bad] = test.journal.asked.map((asked) => asked.headers);
    expect([good?.traceparent, good?.tracestate]).toEqual([PARENT, "a=b"]);
    expect([bad?.traceparent, bad?.tracestate]).toEqual([undefined, undefined]);
    expect(JSON.stringify([good, bad])).not.toMatch(/spo_|other/);
  });

  it("hangs below the span of whoever watches the door", async () => {
    const span = { traceparent: PARENT.replace("b", "c") };
    await using test = await openTestDoor({ onRequest: () => span });
    await test.fetch("/v1/things/a", { headers: { traceparent: PARENT, tracestate: "a=b" } });
    expect(test.journal.asked[0]?.headers).toMatchObject(span);
    expect(test.journal.asked[0]?.headers.tracestate).toBeUndefined();
  });
});

describe("whoever watches the door", () => {
  it("hears of each answer once, refused and unreadable ones too", async () => {
    const seen: SeenAnswer[] = [];
    await using test = await openTestDoor({ onAnswer: (answer) => void seen.push(answer) });
    await test.fetch("/v1/things/a");
    await test.fetch("/v1/nothing");
    await test.say("nonsense\r\n\r\n").ended;
    await expect.poll(() => seen.length).toBe(3);
    expect(seen.map(({ method, route, status, code }) => [method, route?.id, status, code])).toEqual([
      ["GET", "thing", 200, undefined],
      ["GET", undefined, 404, "E3930"],
      ["", undefined, 400, "E3903"],
    ]);
    expect(seen[0]).toMatchObject({ principal: "anyone", aborted: false });
    expect(seen[0]?.durationMs).toBeGreaterThan(0);
  });

  it("does no harm by failing", async () => {
    const fail = () => {
      throw new Error("no");
    };
    await using test = await openTestDoor({ onRequest: fail, onAnswer: fail });
    expect((await test.fetch("/v1/things/a")).status).toBe(200);
    await expect.poll(() => test.lines.length).toBe(2);
  });
});
