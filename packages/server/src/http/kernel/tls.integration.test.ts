import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { SallyportError } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { makeCertificate } from "../../../../adapters/src/egress/certificate.ts";
import { OPERATOR_KEY, openTestDoor, type TestDoor } from "./fixtures/test-door.ts";
import { readTlsFiles } from "./tls-files.ts";

const DAY = 24 * 60 * 60 * 1_000;

/** A certificate for this machine, which signs itself, with its key; gone afterwards. */
export class TlsFolder {
  readonly folder = mkdtempSync(join(tmpdir(), "sallyport-tls-"));
  readonly cert = join(this.folder, "cert.pem");
  readonly key = join(this.folder, "key.pem");
  readonly certificate: string;

  constructor() {
    const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.certificate = makeCertificate(
      {
        commonName: "test",
        publicKey: pair.publicKey,
        notBefore: new Date(Date.now() - DAY),
        notAfter: new Date(Date.now() + DAY),
        names: [{ dns: "localhost" }, { ip: "127.0.0.1" }],
      },
      { commonName: "test", ...pair },
    );
    writeFileSync(this.cert, this.certificate);
    writeFileSync(this.key, pair.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  }

  makeKeyPublic(): void {
    chmodSync(this.key, 0o604);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

async function ask(
  test: TestDoor,
  tls: TlsFolder,
  options: { path: string; method?: string; headers?: object },
) {
  const { port } = test.door.address;
  const headers = { ...options.headers };
  const asked = request({ ...options, headers, host: "127.0.0.1", port, ca: tls.certificate, agent: false });
  asked.end();
  const [answer] = await once(asked, "response");
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}

describe("a door with TLS", () => {
  it("serves HTTPS and asks browsers to stay with it", async () => {
    using tls = new TlsFolder();
    await using test = await openTestDoor({ settings: { tls } });
    expect(test.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const answer = await ask(test, tls, { path: "/v1/things/a" });
    expect([answer.status, answer.body]).toEqual([200, '{"id":"a"}']);
    expect(answer.headers["strict-transport-security"]).toMatch(/^max-age=\d+$/);
    expect(test.journal.asked[0]?.origin).toBe(`https://127.0.0.1:${test.door.address.port}`);
  });

  it("has a browser send the session cookie over TLS alone", async () => {
    using tls = new TlsFolder();
    await using test = await openTestDoor({ settings: { tls } });
    const headers = { authorization: `Bearer ${OPERATOR_KEY}` };
    const ended = await ask(test, tls, { path: "/v1/sessions/current", method: "DELETE", headers });
    expect(ended.headers["set-cookie"]?.[0]).toContain("; Secure");
  });

  it("does not speak old versions of TLS, nor plain HTTP", async () => {
    using tls = new TlsFolder();
    await using test = await openTestDoor({ settings: { tls } });
    const { port } = test.door.address;
    const old = connectTls({
      port,
      host: "127.0.0.1",
      ca: tls.certificate,
      maxVersion: "TLSv1.1",
      minVersion: "TLSv1",
    });
    await expect(once(old, "secureConnect")).rejects.toThrow();
    const plain = test.say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await plain.ended;
    expect(plain.received).not.toContain("HTTP/1.1 200");
  });

  it("closes at once on a client that never ends its handshake, and on one that idles", async () => {
    using tls = new TlsFolder();
    await using test = await openTestDoor({ settings: { tls } });
    const { port } = test.door.address;
    const silent = connect({ port, host: "127.0.0.1" });
    await once(silent, "connect");
    const idle = connectTls({ port, host: "127.0.0.1", ca: tls.certificate });
    await once(idle, "secureConnect");
    const gone = [once(silent, "close"), once(idle, "close")];
    silent.resume();
    idle.resume();
    const startedAt = performance.now();
    await test.door.close({ withinMs: 20_000 });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    await Promise.all(gone);
  });
});

describe("TLS files", () => {
  it("are refused when anybody can read the key", async () => {
    using tls = new TlsFolder();
    tls.makeKeyPublic();
    expect(readTlsFiles(tls)).toMatchObject({ code: "E3227", message: expect.stringContaining("key.pem") });
    await expect(openTestDoor({ settings: { tls } })).rejects.toThrow(SallyportError);
  });

  it("are refused when they are missing or do not belong together, without a word of what is in them", () => {
    using tls = new TlsFolder();
    using other = new TlsFolder();
    const missing = readTlsFiles({ cert: `${tls.folder}/none.pem`, key: tls.key });
    expect(missing).toMatchObject({ code: "E3227", message: expect.stringContaining("none.pem") });
    const mixed = readTlsFiles({ cert: tls.cert, key: other.key });
    expect(mixed).toMatchObject({ code: "E3227", message: expect.stringContaining("belongs to it") });
    writeFileSync(tls.key, "-----BEGIN SECRET-----");
    expect(JSON.stringify(readTlsFiles(tls))).not.toContain("SECRET");
  });
});
