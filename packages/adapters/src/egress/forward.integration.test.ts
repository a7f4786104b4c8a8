import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { listening, openRig } from "./fixtures/rig.ts";
import { Recorder } from "./fixtures/upstream.ts";

const RULES = [{ host: "api.test" }, { host: "other.test", port: 80 }];
const get = (path: string, head = "Connection: close\r\n", host = "api.test") =>
  `GET http://${host}${path} HTTP/1.1\r\nHost: ${host}\r\n${head}\r\n`;

/** What upstream gets of a request. */
async function sentOn(request: string): Promise<string> {
  await using upstream = await new Recorder().start();
  await using rig = await openRig({ rules: RULES, limits: { headMs: 300 } }, upstream.port);
  await rig.speak(request);
  return upstream.received.join("");
}

/** What the client gets of an answer. */
async function passedOn(answer: string, request = get("/")): Promise<string> {
  await using upstream = await new Recorder(answer).start();
  await using rig = await openRig({ rules: RULES, limits: { headMs: 300, idleMs: 500 } }, upstream.port);
  return await rig.speak(request);
}

describe("a request forwarded [L3-EXE-2]", () => {
  it("keeps its path, headers and body, and loses what belongs to the connection", async () => {
    const head =
      "Accept: */*\r\nCookie: a\r\ncookie: b\r\nX-Hop: 1\r\nConnection: close, x-hop\r\nProxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nExpect: 100-continue\r\n";
    const sent = await sentOn(
      `POST http://API.test.:80/a%2F..//b?c=d%20&e HTTP/1.1\r\nHost: api.test\r\n${head}Content-Length: 5\r\n\r\nhello`,
    );
    expect(sent).toBe(
      "POST /a%2F..//b?c=d%20&e HTTP/1.1\r\nhost: api.test\r\nAccept: */*\r\nCookie: a\r\ncookie: b\r\ncontent-length: 5\r\nConnection: keep-alive\r\n\r\nhello",
    );
  });

  it.each([
    ["http://api.test", "/"],
    ["http://api.test?q=1", "/?q=1"],
    ["HTTP://API.TEST/", "/"],
    ["http://api.test//evil.test/", "//evil.test/"],
    ["http://api.test/http://evil.test/", "/http://evil.test/"],
  ])("%s asks for %s", async (url, path) => {
    expect(await sentOn(`GET ${url} HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n`)).toMatch(
      `GET ${path} HTTP/1.1\r\nhost: api.test\r\n`,
    );
  });

  it("frames chunks anew and drops trailers", async () => {
    const sent = await sentOn(
      "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\nTransfer-Encoding: Chunked\r\nTrailer: x\r\n\r\n5;ext=1\r\nhello\r\n0\r\nX: evil\r\n\r\n",
    );
    expect(sent).toBe(
      "POST / HTTP/1.1\r\nhost: api.test\r\ntransfer-encoding: chunked\r\nConnection: keep-alive\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    );
  });

  it("cannot be made to drop its frame through Connection", async () => {
    const sent = await sentOn(
      "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nConnection: close, content-length, host\r\nContent-Length: 5\r\n\r\nhello",
    );
    expect(sent).toMatch(/host: api\.test\r\ncontent-length: 5\r\n/);
  });

  it("says a length of nothing where a body could be", async () => {
    expect(
      await sentOn("POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n"),
    ).toContain("content-length: 0\r\n");
    expect(await sentOn(get("/"))).not.toContain("content-length");
  });

  it("takes HTTP/1.0 without a Host", async () => {
    expect(await sentOn("GET http://api.test/ HTTP/1.0\r\n\r\n")).toMatch(
      /^GET \/ HTTP\/1\.1\r\nhost: api\.test\r\n/,
    );
  });

  it("ignores a wish to upgrade to anything but a WebSocket", async () => {
    expect(
      await sentOn(get("/", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n")),
    ).toBe("GET / HTTP/1.1\r\nhost: api.test\r\nConnection: keep-alive\r\n\r\n");
  });
});

describe("an answer passed on [L3-EXE-2]", () => {
  it("is as it came, without what belongs to the connection", async () => {
    const said = await passedOn(
      "HTTP/1.1 418 Short And Stout\r\nSet-Cookie: a\r\nset-cookie: b\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\nX-Sallyport-Code: E3104\r\nContent-Length: 3\r\n\r\ntea",
    );
    expect(said).toBe(
      "HTTP/1.1 418 Short And Stout\r\nSet-Cookie: a\r\nset-cookie: b\r\nContent-Length: 3\r\nConnection: close\r\n\r\ntea",
    );
  });

  it("is a redirect that nobody followed", async () => {
    await using upstream = await new Recorder(
      "HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n",
    ).start();
    await using rig = await openRig({ rules: RULES }, upstream.port);
    expect(await rig.speak(get("/"))).toMatch(
      /^HTTP\/1\.1 302 Found\r\nLocation: http:\/\/other\.test\/\r\n/,
    );
    expect(upstream.received).toHaveLength(1);
  });

  it.each([
    [
      "HEAD",
      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
      `HEAD http://api.test/ HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n`,
    ],
    ["204", "HTTP/1.1 204 No Content\r\n\r\n", get("/")],
    ["304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", get("/")],
  ])("has no body for %s", async (_, answer, request) => {
    expect(await passedOn(answer, request)).toMatch(/^HTTP\/1\.1 \d+ [\s\S]*\r\n\r\n$/);
  });

  it("is chunked anew when upstream chunks it", async () => {
    const said = await passedOn(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
    );
    expect(said).toBe(
      "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    );
  });

  it.each([
    ["garbage", "SSH-2.0-OpenSSH\r\n"],
    ["both frames", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
    ["a head too long", `HTTP/1.1 200 OK\r\nX: ${"a".repeat(40_000)}\r\n\r\n`],
    ["bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"],
    [
      "an upgrade nobody asked for",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    ],
  ])("is 502 when upstream sends %s", async (_, answer) => {
    expect(await passedOn(answer)).toMatch(/^HTTP\/1\.1 502 .*E3304: api\.test:80 gave no usable answer/s);
  });

  it("breaks off when upstream's status cannot be written", async () => {
    expect(await passedOn("HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n")).toMatch(/^$|^HTTP\/1\.1 502/);
  });

  it("breaks off where upstream breaks off", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () =>
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", () => socket.destroy()),
      );
    });
    const port = await listening(server);
    await using rig = await openRig({ rules: RULES }, port);
    const said = await rig.speak(get("/", ""));
    expect(said).toMatch(/Content-Length: 100\r\n[\s\S]*half$/);
    await new Promise((done) => server.close(done));
  });
});
