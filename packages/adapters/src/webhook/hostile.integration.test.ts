import { createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { listening } from "../egress/fixtures/rig.ts";
import { privateSender, publicSender, Receiver } from "./fixtures/receiver.ts";

const order = (url: string, more: object = {}) => ({ id: "call-1", url, body: "{}", ...more });

/** A server that speaks bytes instead of HTTP. */
async function rawServer(behave: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    behave(socket);
    // Otherwise it would not notice that the other side has gone.
    socket.resume();
  });
  const port = await listening(server);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    open: () => [...sockets].filter(({ destroyed }) => !destroyed).length,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

describe("a receiver that misbehaves [L3-API-1]", () => {
  it.each([
    ["never answers", () => undefined],
    ["answers one byte at a time", (socket: Socket) => drip(socket, "HTTP/1.1 200 OK\r\n".repeat(50))],
    [
      "sends interim answers for ever",
      (socket: Socket) => drip(socket, "", "HTTP/1.1 102 Processing\r\n\r\n"),
    ],
  ])("and %s is left when the time is over", async (_, behave) => {
    await using server = await rawServer(behave);
    using sender = privateSender({ timeoutMs: 300 });
    const sent = await sender.send(order(server.url));
    expect(sent).toMatchObject({ ok: false, retryable: true, problem: expect.stringContaining("300 ms") });
    await expect.poll(server.open).toBe(0);
  });

  it("and drips its body after a yes has said yes, and is left when the time is over", async () => {
    await using server = await rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
      drip(socket, "x".repeat(1_000));
    });
    using sender = privateSender({ timeoutMs: 3_000 });
    expect(await sender.send(order(server.url))).toEqual({ ok: true, status: 200 });
    await expect.poll(server.open).toBe(0);
  });

  it("and sends without end is cut off after 64 KiB", async () => {
    let written = 0;
    await using server = await rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const pour = () => {
        if (socket.destroyed) return;
        written += 1;
        socket.write(Buffer.alloc(16 * 1024), pour);
      };
      pour();
    });
    using sender = privateSender({ timeoutMs: 60_000 });
    expect(await sender.send(order(server.url))).toEqual({ ok: true, status: 200 });
    await expect.poll(server.open).toBe(0);
    expect(written).toBeLessThan(4_096);
  });

  it.each([301, 302, 303, 307, 308])("and redirects (%i) is not followed", async (status) => {
    await using inside = await new Receiver().start();
    await using receiver = await new Receiver((res) => {
      res.writeHead(status, { location: inside.url }).end();
    }).start();
    using sender = privateSender();
    expect(await sender.send(order(receiver.url))).toMatchObject({ ok: false, status, retryable: false });
    expect(inside.accepted).toBe(0);
  });

  it.each([
    [500, true],
    [503, true],
    [429, true],
    [404, true],
    [401, true],
    [410, false],
    [413, false],
  ])("and answers %i is tried again: %s", async (status, retryable) => {
    await using receiver = await new Receiver((res) => void res.writeHead(status).end("sorry")).start();
    using sender = privateSender();
    expect(await sender.send(order(receiver.url))).toMatchObject({ ok: false, status, retryable });
  });

  it("and asks to wait is heard", async () => {
    await using receiver = await new Receiver(
      (res) => void res.writeHead(429, { "retry-after": "7" }).end(),
    ).start();
    using sender = privateSender();
    expect(await sender.send(order(receiver.url))).toMatchObject({ retryAfterMs: 7_000 });
  });

  it.each([
    ["resets the connection", (socket: Socket) => socket.resetAndDestroy()],
    ["hangs up", (socket: Socket) => socket.end()],
    ["speaks nonsense", (socket: Socket) => socket.end("SSH-2.0-x\r\n")],
    [
      "speaks two lengths",
      (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"),
    ],
    [
      "sends a head without end",
      (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}`),
    ],
    [
      "upgrades",
      (socket: Socket) =>
        socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
    ],
  ])("and %s is tried again", async (_, behave) => {
    await using server = await rawServer((socket) => socket.once("data", () => behave(socket)));
    using sender = privateSender();
    expect(await sender.send(order(server.url))).toMatchObject({ ok: false, retryable: true });
    await expect.poll(server.open).toBe(0);
  });

  it("and is not there is tried again", async () => {
    const port = await rawServer(() => undefined).then(async (server) => {
      await server[Symbol.asyncDispose]();
      return server.port;
    });
    using sender = privateSender();
    expect(await sender.send(order(`http://127.0.0.1:${port}/x`))).toMatchObject({
      ok: false,
      retryable: true,
      problem: expect.stringContaining("ECONNREFUSED"),
    });
  });

  it("and stalls in the TLS handshake is left when the time is over", async () => {
    await using server = await rawServer(() => undefined);
    using sender = publicSender(server.port, { timeoutMs: 300 });
    const sent = await sender.send(order("https://hooks.example/x"));
    expect(sent).toMatchObject({
      ok: false,
      retryable: true,
      problem: expect.stringMatching(/ETIMEDOUT|300 ms/),
    });
    await expect.poll(server.open).toBe(0);
  });
});

describe("the time limit", () => {
  it("covers the lookup", async () => {
    using sender = publicSender(1, { timeoutMs: 200, resolve: () => new Promise(() => undefined) });
    const sent = await sender.send(order("https://hooks.example/x"));
    expect(sent).toMatchObject({ ok: false, retryable: true, problem: expect.stringContaining("200 ms") });
  });

  it("can be cut short, for one delivery and for all", async () => {
    await using server = await rawServer(() => undefined);
    using sender = privateSender({ timeoutMs: 60_000 });
    const one = new AbortController();
    const sends = [sender.send(order(server.url, { signal: one.signal })), sender.send(order(server.url))];
    await expect.poll(server.open).toBe(2);
    one.abort();
    expect(await sends[0]).toMatchObject({
      ok: false,
      retryable: true,
      problem: expect.stringContaining("stopped"),
    });
    sender.close();
    expect(await sends[1]).toMatchObject({ ok: false, retryable: true });
    expect(await sender.send(order(server.url))).toMatchObject({ ok: false });
    await expect.poll(server.open).toBe(0);
  });

  it("cut short while it connects leaves no connection behind", async () => {
    await using server = await rawServer(() => undefined);
    using sender = publicSender(server.port, { timeoutMs: 60_000 });
    const sent = sender.send(order("https://hooks.example/x"));
    await expect.poll(server.open).toBe(1);
    sender.close();
    expect(await sent).toMatchObject({ ok: false, retryable: true });
    await expect.poll(server.open).toBe(0);
  });
});

/** Writes a text byte by byte, or a piece again and again, until the other side has had enough. */
function drip(socket: Socket, text: string, piece?: string): void {
  let at = 0;
  const timer = setInterval(() => {
    socket.write(piece ?? text.charAt(at));
    at += 1;
    if (piece === undefined && at >= text.length) clearInterval(timer);
  }, 20);
  socket.once("close", () => clearInterval(timer));
}
