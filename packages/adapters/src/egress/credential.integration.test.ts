import { once } from "node:events";
import type { RequestListener } from "node:http";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import type { EgressCredential, EgressRule, SecretSource } from "@sallyport/engine/ports";
import { describe, expect, it } from "vitest";
import { openRig, type Rig, readAll, readUntil } from "./fixtures/rig.ts";
import { TlsUpstream } from "./fixtures/tls-upstream.ts";
import { HttpUpstream } from "./fixtures/upstream.ts";

const SECRET = "s3cr3t-$&-value";
const secrets: SecretSource = { get: async (name) => (name === "api-key" ? SECRET : undefined) };
const bearer: EgressCredential = {
  secret: "api-key",
  as: { header: "Authorization", value: "Bearer {secret}" },
  intercept: true,
};
const RULES: EgressRule[] = [
  { host: "api.test", port: 443, credential: bearer },
  { host: "basic.test", credential: { secret: "api-key", as: { basic: { user: "ann" } }, intercept: true } },
  { host: "blind.test" },
];
const get = (host: string, head = "") =>
  `GET / HTTP/1.1\r\nHost: ${host}\r\n${head}Connection: close\r\n\r\n`;

/** TLS inside a tunnel, as a client that trusts only the sandbox's authority. */
async function tlsThrough(rig: Rig, host: string, ca = rig.egress.caCertificate ?? ""): Promise<TLSSocket> {
  const socket = rig.client();
  socket.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`);
  await readUntil(socket, /200 Connection established\r\n\r\n/);
  const secured = connectTls({ socket, ca, servername: host, ALPNProtocols: ["h2", "http/1.1"] });
  secured.on("error", () => undefined);
  await Promise.race([
    once(secured, "secureConnect"),
    once(secured, "close").then(() => Promise.reject(new Error("closed"))),
  ]);
  return secured;
}

async function askTls(rig: Rig, host: string, request = get(host)): Promise<string> {
  const secured = await tlsThrough(rig, host);
  secured.write(request);
  return (await readAll(secured)).toString("latin1");
}

const names = [{ dns: "api.test" }, { dns: "basic.test" }, { dns: "blind.test" }];

describe("a credential the sandbox never sees [L3-EXE-2]", () => {
  it("replaces the placeholder over https, for that host only", async () => {
    await using upstream = await new TlsUpstream(names).start();
    await using rig = await openRig({ rules: RULES, secrets, upstreamCa: upstream.ca }, upstream.port);
    const head = "authorization: Bearer placeholder\r\nAUTHORIZATION: again\r\nX: y\r\n";
    expect(await askTls(rig, "api.test", get("api.test", head))).toMatch(/^HTTP\/1\.1 200 /);
    const { rawHeaders } = upstream.requests[0] ?? { rawHeaders: [] };
    expect(rawHeaders.filter((_, at) => rawHeaders[at - 1]?.toLowerCase() === "authorization")).toEqual([
      `Bearer ${SECRET}`,
    ]);
    expect(upstream.requests[0]?.headers).toMatchObject({ host: "api.test", x: "y" });
  });

  it("is basic authentication where the rule says so, by SOCKS too", async () => {
    await using upstream = await new TlsUpstream(names).start();
    await using rig = await openRig({ rules: RULES, secrets, upstreamCa: upstream.ca }, upstream.port);
    const socket = rig.client();
    socket.write("\x05\x01\x00\x05\x01\x00\x03\x0abasic.test\x01\xbb", "latin1");
    await readUntil(socket, /^[\s\S]{12}$/);
    const secured = connectTls({ socket, ca: rig.egress.caCertificate ?? "", servername: "basic.test" });
    secured.write(get("basic.test", "Authorization: Basic cGxhY2U6aG9sZGVy\r\n"));
    expect((await readAll(secured)).toString()).toMatch(/^HTTP\/1\.1 200 /);
    expect(upstream.requests[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from(`ann:${SECRET}`).toString("base64")}`,
    );
  });

  it("speaks HTTP/1.1 inside, keeps the connection, and asks for the secret each time", async () => {
    let asked = 0;
    const counting = { get: async () => `secret-${++asked}` };
    await using upstream = await new TlsUpstream(names).start();
    await using rig = await openRig(
      { rules: RULES, secrets: counting, upstreamCa: upstream.ca },
      upstream.port,
    );
    const secured = await tlsThrough(rig, "api.test");
    expect(secured.alpnProtocol).toBe("http/1.1");
    for (const path of ["/1", "/2", "/3"]) {
      secured.write(`GET ${path} HTTP/1.1\r\nHost: api.test\r\n\r\n`);
      await readUntil(secured, new RegExp(`GET ${path}`));
    }
    secured.destroy();
    expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer secret-1",
      "Bearer secret-2",
      "Bearer secret-3",
    ]);
    expect(upstream.accepted).toBe(1);
  });

  it("goes along with a WebSocket's handshake", async () => {
    await using upstream = await new TlsUpstream(names).start();
    upstream.server.on("upgrade", (req, socket) => {
      upstream.requests.push(req);
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nopen",
      );
      socket.on("end", () => socket.end());
    });
    await using rig = await openRig({ rules: RULES, secrets, upstreamCa: upstream.ca }, upstream.port);
    const secured = await tlsThrough(rig, "api.test");
    secured.write("GET /ws HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    expect(await readUntil(secured, /open$/)).toMatch(/^HTTP\/1\.1 101 /);
    secured.destroy();
    expect(upstream.requests[0]?.headers.authorization).toBe(`Bearer ${SECRET}`);
  });

  it("leaves a host without interception alone: a blind tunnel with upstream's own certificate", async () => {
    await using upstream = await new TlsUpstream(names).start();
    await using rig = await openRig({ rules: RULES, secrets }, upstream.port);
    const secured = await tlsThrough(rig, "blind.test", upstream.ca);
    secured.write(get("blind.test", "Authorization: Bearer placeholder\r\n"));
    expect((await readAll(secured)).toString()).toMatch(/^HTTP\/1\.1 200 /);
    expect(upstream.requests[0]?.headers.authorization).toBe("Bearer placeholder");
  });

  it.each([
    ["another host inside", get("basic.test")],
    ["another port inside", get("api.test:8443")],
    ["a whole URL inside", "GET https://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n"],
    ["another URL inside", "GET http://evil.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n"],
    ["two Hosts inside", get("api.test", "Host: evil.test\r\n")],
    ["CONNECT inside", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n"],
    ["TRACE inside", "TRACE / HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n"],
    [
      "two frames inside",
      "POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
  ])("is not sent for %s", async (_, request) => {
    await using upstream = await new TlsUpstream(names).start();
    await using rig = await openRig({ rules: RULES, secrets, upstreamCa: upstream.ca }, upstream.port);
    expect(await askTls(rig, "api.test", request)).toMatch(/^HTTP\/1\.1 40[05] /);
    expect(upstream.requests).toEqual([]);
  });

  it.each<[string, SecretSource | undefined]>([
    ["no source", undefined],
    ["no such secret", { get: async () => undefined }],
    ["an empty one", { get: async () => "" }],
    ["a source that fails, saying the secret", { get: () => Promise.reject(new Error(`no ${SECRET}`)) }],
    [
      "a source that throws",
      {
        get: () => {
          throw new Error(SECRET);
        },
      },
    ],
    ["a secret that would split the header", { get: async () => `${SECRET}\r\nEvil: 1` }],
  ])("is 502 with E3301 for %s, and nothing is sent", async (_, source) => {
    await using upstream = await new TlsUpstream(names).start();
    await using rig = await openRig(
      { rules: RULES, ...(source && { secrets: source }), upstreamCa: upstream.ca },
      upstream.port,
    );
    const said = await askTls(rig, "api.test");
    expect(said).toMatch(/^HTTP\/1\.1 502 .*x-sallyport-code: E3301/s);
    expect(upstream.requests).toEqual([]);
    expect(said + JSON.stringify(rig.egress.refusals())).not.toContain("s3cr3t");
    expect(rig.egress.refusals()).toMatchObject([{ host: "api.test", port: 443, code: "E3301", times: 1 }]);
  });

  it.each([
    ["of an authority nobody knows", names, undefined],
    ["for another host", [{ dns: "evil.test" }], "trusted"],
  ])("is not even asked for when upstream's certificate is %s", async (_, certified, trusted) => {
    let asked = 0;
    const counting = { get: async () => String(++asked) };
    await using upstream = await new TlsUpstream(certified).start();
    await using rig = await openRig(
      { rules: RULES, secrets: counting, ...(trusted && { upstreamCa: upstream.ca }) },
      upstream.port,
    );
    expect(await askTls(rig, "api.test")).toMatch(
      /^HTTP\/1\.1 502 .*E3304: api\.test:443 could not be verified/s,
    );
    expect([asked, upstream.requests.length]).toEqual([0, 0]);
  });

  it("gives the client nothing but what upstream says, in any direction", async () => {
    await using upstream = await new TlsUpstream(names, (_, res) =>
      res.writeHead(302, { location: "https://evil.test/" }).end(),
    ).start();
    const told: string[] = [];
    await using rig = await openRig(
      {
        rules: RULES,
        secrets,
        upstreamCa: upstream.ca,
        onRefused: (refusal) => told.push(JSON.stringify(refusal)),
      },
      upstream.port,
    );
    const said = [
      await askTls(rig, "api.test"),
      await rig.speak("GET http://api.test:443/ HTTP/1.1\r\nHost: api.test:443\r\nConnection: close\r\n\r\n"),
      await rig.speak("GET http://basic.test/ HTTP/1.1\r\nHost: basic.test\r\nConnection: close\r\n\r\n"),
    ];
    expect(said[0]).toMatch(/^HTTP\/1\.1 302 /);
    expect(
      [...said, ...told, JSON.stringify(rig.egress.refusals()), rig.egress.caCertificate].join(),
    ).not.toMatch(/s3cr3t|Basic /);
    expect(upstream.requests).toHaveLength(1);
  });
});

describe("an answer that repeats a credential [D-16]", () => {
  const basic = Buffer.from(`ann:${SECRET}`).toString("base64");
  const forms = [SECRET, Buffer.from(SECRET).toString("base64"), encodeURIComponent(SECRET)];
  const open = (listener: RequestListener) => new TlsUpstream(names, listener).start();

  it.each(["api.test", "basic.test"])(
    "shows %s's in no header, status or piece of the body",
    async (host) => {
      const held = host === "basic.test" ? [...forms, basic] : forms;
      await using upstream = await open(async (req, res) => {
        const value = req.headers.authorization ?? "";
        res.writeHead(200, `OK ${value}`, { "x-echo": value, "set-cookie": [`a=${value}`] });
        const body = `${JSON.stringify(req.headers)} ${held.join(" ")} end`;
        for (const piece of body.match(/.{1,7}/gs) ?? []) {
          res.write(piece);
          await new Promise((done) => setImmediate(done));
        }
        res.end();
      });
      await using rig = await openRig({ rules: RULES, secrets, upstreamCa: upstream.ca }, upstream.port);
      const raw = await askTls(rig, host, get(host, "Accept-Encoding: gzip\r\n"));
      // Without the heads of chunks, behind which a secret would not be seen.
      const said = raw.replaceAll(/\r\n[0-9a-f]+\r\n/g, "");
      expect(said).toMatch(/^HTTP\/1\.1 200 OK \S*\**.*"accept-encoding":"identity".* end/s);
      for (const secret of held) expect(said).not.toContain(secret);
    },
  );

  it.each([false, true])(
    "is asked for parts of an answer only where the operator allows it (%s)",
    async (ranges) => {
      await using upstream = await open((req, res) =>
        res.end(`<${req.headers.range} ${req.headers["if-range"]}>`),
      );
      const rules = RULES.map((rule) => ({
        ...rule,
        ...(rule.credential && { credential: { ...rule.credential, ranges } }),
      }));
      await using rig = await openRig({ rules, secrets, upstreamCa: upstream.ca }, upstream.port);
      const said = await askTls(rig, "api.test", get("api.test", 'Range: bytes=0-3\r\nIf-Range: "x"\r\n'));
      expect(said).toContain(ranges ? '<bytes=0-3 "x">' : "<undefined undefined>");
    },
  );

  it("keeps its length", async () => {
    await using upstream = await open((req, res) => res.end(`<${req.headers.authorization}>`));
    await using rig = await openRig({ rules: RULES, secrets, upstreamCa: upstream.ca }, upstream.port);
    const said = await askTls(rig, "api.test");
    expect(said.split("\r\n\r\n")[1]).toBe(`<${"*".repeat(`Bearer ${SECRET}`.length)}>`);
    expect(said).toMatch(new RegExp(`content-length: ${SECRET.length + 9}`, "i"));
  });

  it("is refused when it is compressed all the same", async () => {
    await using upstream = await open((req, res) =>
      res.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(req.headers.authorization ?? "")),
    );
    await using rig = await openRig({ rules: RULES, secrets, upstreamCa: upstream.ca }, upstream.port);
    expect(await askTls(rig, "api.test")).toMatch(/^HTTP\/1\.1 502 .*E3304: .*compressed/s);
  });

  it("shows it in no WebSocket frame either", async () => {
    await using upstream = await open(() => undefined);
    upstream.server.on("upgrade", (req, socket) => {
      const value = req.headers.authorization;
      socket.write(
        `HTTP/1.1 101 ${value}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX: ${value}\r\n\r\n`,
      );
      socket.end(`${value} ${JSON.stringify(req.headers)} closing`);
    });
    await using rig = await openRig({ rules: RULES, secrets, upstreamCa: upstream.ca }, upstream.port);
    const head =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n";
    const said = await askTls(rig, "api.test", `GET / HTTP/1.1\r\nHost: api.test\r\n${head}\r\n`);
    expect(said).toMatch(/^HTTP\/1\.1 101 .* closing$/s);
    expect(said).not.toMatch(/s3cr3t|permessage/);
  });
});

describe("a credential over plain HTTP [L3-EXE-2]", () => {
  const plain = (allowPrivate: boolean, plainHttp = true): EgressRule[] => [
    {
      host: "api.test",
      allowPrivate,
      credential: {
        secret: "api-key",
        as: { header: "X-Key", value: "{secret}" },
        intercept: true,
        plainHttp,
      },
    },
  ];
  const request =
    "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nX-Key: placeholder\r\nConnection: close\r\n\r\n";

  it.each([
    ["a public address", false, true, "93.184.216.34"],
    ["a public address though private ones are allowed", true, true, "93.184.216.34"],
    ["a private address unless the operator said so", true, false, "127.0.0.1"],
  ])("is refused for %s, with the reason [D-16]", async (_, allowPrivate, plainHttp, address) => {
    await using upstream = await new HttpUpstream().start();
    const resolve = async () => [{ address, family: 4 }];
    await using rig = await openRig(
      { rules: plain(allowPrivate, plainHttp), secrets, resolve },
      upstream.port,
    );
    expect(await rig.speak(request)).toMatch(
      /^HTTP\/1\.1 403 .*E3104: api\.test:80 gets a credential, which is not sent over plain HTTP/s,
    );
    expect([rig.dialled.length, upstream.requests.length]).toEqual([0, 0]);
  });

  it("is added for a private address where the operator allows both", async () => {
    await using upstream = await new HttpUpstream().start();
    const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
    await using rig = await openRig({ rules: plain(true), secrets, resolve }, upstream.port);
    expect(await rig.speak(request)).toMatch(/^HTTP\/1\.1 200 /);
    expect(upstream.requests[0]?.headers["x-key"]).toBe(SECRET);
  });
});
