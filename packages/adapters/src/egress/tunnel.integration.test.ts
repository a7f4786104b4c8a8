import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { listening, openRig, readAll, readUntil } from "./fixtures/rig.ts";
import { HttpUpstream, Recorder } from "./fixtures/upstream.ts";

const RULES = [{ host: "api.test" }, { host: "other.test", port: 80 }];
const get = (path: string, head = "Connection: close\r\n", host = "api.test") =>
  `GET http://${host}${path} HTTP/1.1\r\nHost: ${host}\r\n${head}\r\n`;

describe("a WebSocket [L3-EXE-2]", () => {
  const shake = get(
    "/chat",
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\nSec-WebSocket-Version: 13\r\n",
  );

  it("goes through to the host it was asked for", async () => {
    await using upstream = await new HttpUpstream().start();
    upstream.server.on("upgrade", (req, socket) => {
      upstream.requests.push(req);
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nfirst",
      );
      socket.on("data", (chunk) => socket.write(`echo ${chunk}`));
      socket.on("end", () => socket.end());
    });
    await using rig = await openRig({ rules: RULES }, upstream.port);
    const client = rig.client();
    client.write(`${shake}early`);
    const head = await readUntil(client, /echo early$/);
    expect(head).toMatch(
      /^HTTP\/1\.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\nfirst/,
    );
    client.write("more");
    expect(await readUntil(client, /echo more$/)).toBe("echo more");
    client.end();
    await readAll(client);
    expect(upstream.requests[0]?.headers).toMatchObject({
      host: "api.test",
      upgrade: "websocket",
      connection: "Upgrade",
    });
  });

  it("gets an ordinary answer when upstream wants none", async () => {
    await using upstream = await new HttpUpstream((_, res) => res.writeHead(426).end("no")).start();
    await using rig = await openRig({ rules: RULES }, upstream.port);
    expect(await rig.speak(shake)).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n[\s\S]*no/);
  });

  it("gets 502 when upstream hangs up", async () => {
    await using upstream = await new HttpUpstream((req) => req.socket.destroy()).start();
    await using rig = await openRig({ rules: RULES }, upstream.port);
    expect(await rig.speak(shake)).toMatch(/^HTTP\/1\.1 502 /);
  });
});

describe("a tunnel [L3-EXE-2]", () => {
  it.each([
    ["CONNECT", "CONNECT api.test:80 HTTP/1.1\r\nHost: api.test\r\n\r\n", /\r\n\r\n/],
    ["SOCKS5", "\x05\x01\x00\x05\x01\x00\x03\x08api.test\x00\x50", /^[\s\S]{12}/],
  ])("by %s carries bytes unchanged both ways, with early data and half-close", async (_, open, opened) => {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      const hash = createHash("sha256");
      socket.on("data", (chunk) => hash.update(chunk));
      socket.on("end", () => socket.end(`after your end ${hash.digest("hex")}`));
    });
    await using rig = await openRig({ rules: RULES }, await listening(server));
    const client = rig.client();
    const body = Buffer.alloc(3_000_000, "0123456789\0\xff");
    client.write(Buffer.concat([Buffer.from(open, "latin1"), Buffer.from("early")]));
    await readUntil(client, opened);
    client.end(body);
    const digest = createHash("sha256").update("early").update(body).digest("hex");
    expect((await readAll(client)).toString()).toBe(`after your end ${digest}`);
    await new Promise((done) => server.close(done));
  });

  it("takes a SOCKS handshake byte by byte", async () => {
    await using upstream = await new Recorder("hello").start();
    await using rig = await openRig({ rules: RULES, limits: { idleMs: 200 } }, upstream.port);
    const said = await rig.speak(..."\x05\x01\x00\x05\x01\x00\x03\x08api.test\x00\x50!".split(""));
    expect(said).toBe("\x05\x00\x05\x00\x00\x01\0\0\0\0\0\0hello");
  });
});
