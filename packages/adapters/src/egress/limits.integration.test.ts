import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readdirSync, statSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import { listening, openRig, type Rig, readAll, readUntil } from "./fixtures/rig.ts";
import { TlsUpstream } from "./fixtures/tls-upstream.ts";
import { HttpUpstream, Recorder } from "./fixtures/upstream.ts";
import { openEgress } from "./index.ts";

const RULES = [{ host: "api.test" }];
const GET = "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n";
const CONNECT = "CONNECT api.test:80 HTTP/1.1\r\n\r\n";
const SOCKS = "\x05\x01\x00\x05\x01\x00\x03\x08api.test\x00\x50";

async function tunnel(rig: Rig, to = "api.test:80"): Promise<Socket> {
  const client = rig.client();
  client.write(`CONNECT ${to} HTTP/1.1\r\n\r\n`);
  await readUntil(client, /200 Connection established\r\n\r\n/);
  return client;
}

/** Counts the bytes on the wire in front of a server. */
async function countingRelay(to: number) {
  const wire = { sent: 0, received: 0 };
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const inner = connect({ port: to, host: "127.0.0.1", allowHalfOpen: true });
    socket
      .on("error", () => inner.destroy())
      .on("data", (chunk) => {
        wire.sent += chunk.length;
      });
    inner
      .on("error", () => socket.destroy())
      .on("data", (chunk) => {
        wire.received += chunk.length;
      });
    socket.pipe(inner).pipe(socket);
  });
  return { wire, server, port: await listening(server) };
}

describe("what went over the network is counted [L3-EXE-2]", () => {
  it("to the byte, for requests and tunnels", async () => {
    await using upstream = await new HttpUpstream((_, res) => res.end(Buffer.alloc(1_234_567))).start();
    const { wire, server, port } = await countingRelay(upstream.port);
    await using rig = await openRig({ rules: RULES }, port);
    expect(rig.egress.usage()).toEqual({ sent: 0, received: 0 });
    await rig.speak(GET);
    await rig.speak(
      `POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n${"x".repeat(100_000)}`,
    );
    const client = await tunnel(rig);
    client.end("GET / HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n");
    await readAll(client);
    await rig.speak("GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n");
    await expect.poll(() => rig.egress.usage()).toEqual(wire);
    expect(wire.received).toBeGreaterThan(3 * 1_234_567);
    expect(wire.sent).toBeGreaterThan(100_000);
    await rig.egress.close();
    expect(rig.egress.usage()).toEqual(wire);
    await new Promise((done) => server.close(done));
  });

  it("with its TLS when intercepted, and while it still runs", async () => {
    await using upstream = await new TlsUpstream([{ dns: "api.test" }], (_, res) =>
      res.write("go on"),
    ).start();
    const { wire, server, port } = await countingRelay(upstream.port);
    const credential = { secret: "s", as: { header: "x-key", value: "{secret}" }, intercept: true };
    await using rig = await openRig(
      {
        rules: [{ host: "api.test", credential }],
        secrets: { get: async () => "v" },
        upstreamCa: upstream.ca,
      },
      port,
    );
    const client = await tunnel(rig, "api.test:443");
    const secured = connectTls({
      socket: client,
      ca: rig.egress.caCertificate ?? "",
      servername: "api.test",
    });
    secured.write("GET / HTTP/1.1\r\nHost: api.test\r\n\r\n");
    await readUntil(secured, /go on/);
    await expect.poll(() => rig.egress.usage()).toEqual(wire);
    expect(wire.received).toBeGreaterThan(500);
    secured.destroy();
    await rig.egress.close();
    await new Promise((done) => server.close(done));
  });

  it("and cut where the limit is", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.write(Buffer.alloc(8_000_000));
    });
    await using rig = await openRig({ rules: RULES, limits: { bytes: 1_000_000 } }, await listening(server));
    const client = await tunnel(rig);
    expect((await readAll(client)).length).toBeLessThan(2_000_000);
    expect(await rig.speak(GET)).toMatch(
      /^HTTP\/1\.1 503 .*x-sallyport-code: E3102.*More than 1000000 bytes/s,
    );
    expect(rig.egress.refusals()[0]).toMatchObject({ code: "E3102" });
    await new Promise((done) => server.close(done));
  });
});

describe("how much of the proxy one sandbox may use [L3-EXE-2]", () => {
  it("refuses connections beyond its limit in the client's own words, and takes them again later", async () => {
    await using upstream = await new Recorder().start();
    await using rig = await openRig({ rules: RULES, connections: 2 }, upstream.port);
    const [first] = [await tunnel(rig), await tunnel(rig)];
    const [http, connectAnswer, socks] = [
      await rig.speak(GET),
      await rig.speak(CONNECT),
      await rig.speak(SOCKS),
    ];
    expect(http).toMatch(/^HTTP\/1\.1 503 .*x-sallyport-code: E3102.*More than 2 connections at once/s);
    expect(connectAnswer).toMatch(/^HTTP\/1\.1 503 /);
    expect(socks.slice(0, 4)).toBe("\x05\x00\x05\x01");
    expect(rig.egress.refusals()).toMatchObject([{ host: "api.test", port: 80, code: "E3102", times: 3 }]);
    first?.destroy();
    await expect.poll(() => rig.speak(GET)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it.each([
    ["a request", ["G", "E", "T", " "]],
    ["a greeting", ["\x05", "\x20", "\x01", "\x01"]],
    ["a SOCKS request", ["\x05\x01\x00", "\x05", "\x01", "\x00"]],
  ])("cuts %s that drips in", async (_, pieces) => {
    await using rig = await openRig({ rules: RULES, limits: { headMs: 250 } });
    const client = rig.client();
    const drip = setInterval(() => client.write(Buffer.from(pieces.shift() ?? "\x01", "latin1")), 50);
    const startedAt = Date.now();
    await readAll(client);
    clearInterval(drip);
    expect(Date.now() - startedAt).toBeGreaterThan(200);
    expect(Date.now() - startedAt).toBeLessThan(20_000);
  });

  it.each([
    ["a connection without a word", "", /^$/],
    [
      "a kept connection without a next request",
      "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
      /^HTTP\/1\.1 200 OK\r\n(?:(?!HTTP\/)[\s\S])*\r\n\r\nok$/,
    ],
    [
      "an intercepted tunnel without TLS",
      "CONNECT tls.test:443 HTTP/1.1\r\n\r\n",
      /^HTTP\/1\.1 200 Connection established\r\n\r\n$/,
    ],
  ])("cuts %s", async (_, said, heard) => {
    await using upstream = await new Recorder().start();
    const credential = { secret: "s", as: { header: "x-key", value: "{secret}" }, intercept: true };
    await using rig = await openRig(
      { rules: [...RULES, { host: "tls.test", credential }], limits: { headMs: 200 } },
      upstream.port,
    );
    const client = rig.client();
    if (said) client.write(said);
    expect((await readAll(client)).toString("latin1")).toMatch(heard);
  });

  it("cuts an idle tunnel after what was said has arrived", async () => {
    await using upstream = await new Recorder("welcome").start();
    await using rig = await openRig({ rules: RULES, limits: { idleMs: 300 } }, upstream.port);
    const client = await tunnel(rig);
    client.write("hello");
    expect((await readAll(client)).toString()).toBe("welcome");
    expect(upstream.received).toEqual(["hello"]);
  });

  it("cuts a tunnel whose client does not read, on the side of the server too", async () => {
    const server = createServer();
    const written = new Promise((resolve) => {
      server.once("connection", (socket) => {
        socket.on("error", () => undefined).write(Buffer.alloc(32_000_000), resolve);
      });
    });
    await using rig = await openRig({ rules: RULES, limits: { idleMs: 300 } }, await listening(server));
    (await tunnel(rig)).pause();
    expect(await written).toBeInstanceOf(Error);
    await new Promise((done) => server.close(done));
  });

  it("does not read faster than the slower side", async () => {
    let sent = 0;
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      const more = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) sent += 65_536;
        sent += 65_536;
      };
      socket.on("drain", more);
      more();
    });
    await using rig = await openRig({ rules: RULES }, await listening(server));
    const client = await tunnel(rig);
    client.pause();
    // Until every buffer on the way is full, and then no more.
    let before = -1;
    for (let look = 0; look < 60 && sent !== before; look += 1) {
      before = sent;
      await sleep(500);
    }
    expect(sent).toBe(before);
    expect(sent).toBeLessThan(32_000_000);
    client.destroy();
    await rig.egress.close();
    await new Promise((done) => server.close(done));
  });
});

describe("the socket [L3-EXE-2]", () => {
  it("has the mode it was given, and is gone after closing, which may be repeated", async () => {
    await using rig = await openRig({ rules: [] });
    expect(statSync(rig.socketPath).mode & 0o777).toBe(0o666);
    await Promise.all([rig.egress.close(), rig.egress.close()]);
    await rig.egress.close();
    expect(readdirSync(dirname(rig.socketPath))).toEqual([]);
    await using closed = await openRig({ rules: [], socketMode: 0o600 });
    expect(statSync(closed.socketPath).mode & 0o777).toBe(0o600);
  });

  it("goes on after clients that could not be accepted", async () => {
    const servers: Server[] = [];
    const note = (message: unknown) => servers.push((message as { server: Server }).server);
    subscribe("tracing:net.server.listen:asyncStart", note);
    await using upstream = await new HttpUpstream().start();
    await using rig = await openRig({ rules: RULES }, upstream.port);
    unsubscribe("tracing:net.server.listen:asyncStart", note);
    const server = servers.find((one) => one.address() === rig.socketPath);
    for (let times = 0; times < 3; times += 1) server?.emit("error", new Error("accept EMFILE"));
    expect(server?.listening).toBe(true);
    expect(await rig.speak(GET)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("is refused where it cannot be", async () => {
    const folder = await mkdtemp(join(tmpdir(), "egress-"));
    const taken = join(folder, "taken");
    await writeFile(taken, "");
    await chmod(taken, 0o600);
    for (const socketPath of [taken, join(folder, "x".repeat(120)), join(folder, "no", "such")])
      await expect(openEgress({ socketPath, rules: [], connections: 1 })).rejects.toThrow(
        /^E3101: The socket of the egress proxy could not be made/,
      );
    expect(readdirSync(folder)).toEqual(["taken"]);
    await rm(folder, { recursive: true });
  });

  it("ends everything at once when closed, whatever it was doing", async () => {
    await using upstream = await new HttpUpstream(() => undefined).start();
    let answer: (addresses: []) => void = () => undefined;
    const slow = new Promise<[]>((done) => {
      answer = done;
    });
    const resolve = (host: string) =>
      host === "slow.test" ? slow : Promise.resolve([{ address: "1.1.1.1", family: 4 }]);
    await using rig = await openRig({ rules: [{ host: "*" }], resolve }, upstream.port);
    const tunnelled = await tunnel(rig);
    const waiting = [
      "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
      "CONNECT slow.test:80 HTTP/1.1\r\n\r\n",
      "\x05",
      "GET",
    ].map((said) => {
      const client = rig.client();
      client.write(said);
      return client;
    });
    await expect.poll(() => upstream.requests.length).toBe(1);
    const ended = [tunnelled, ...waiting].map((client) => readAll(client));
    const startedAt = Date.now();
    await rig.egress.close();
    await Promise.all(ended);
    expect(Date.now() - startedAt).toBeLessThan(20_000);
    answer([]);
    await expect
      .poll(() => new Promise((done) => upstream.server.getConnections((_, count) => done(count))))
      .toBe(0);
  });

  it("leaves no handle, timer or file descriptor behind", async () => {
    const descriptors = () => readdirSync("/proc/self/fd").length;
    const before = { resources: process.getActiveResourcesInfo(), descriptors: descriptors() };
    for (let round = 0; round < 20; round += 1) {
      await using upstream = await new HttpUpstream().start();
      await using rig = await openRig({ rules: RULES }, upstream.port);
      const refused = CONNECT.replace("api", "evil");
      await Promise.all([GET, refused, "\x05\x01\x02", "\0"].map((said) => rig.speak(said)));
      await tunnel(rig);
      rig.client().write("GET");
    }
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
