import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { TlsUpstream } from "../egress/fixtures/tls-upstream.ts";
import { privateSender, publicSender, Receiver, SECRET } from "./fixtures/receiver.ts";
import { createWebhookSender, newWebhookSecret } from "./index.ts";

const BODY = JSON.stringify({ invocation_id: "1", status: "success", result: "ü" });
const order = (url: string, more: object = {}) => ({ id: "call-1", url, body: BODY, ...more });

describe("a delivery [L3-API-1]", () => {
  it("arrives signed, whole and at its path", async () => {
    await using receiver = await new Receiver().start();
    using sender = privateSender();
    expect(await sender.send(order(`${receiver.url}?a=1`))).toEqual({ ok: true, status: 204 });
    const [{ headers, path, body }] = receiver.received as [(typeof receiver.received)[0]];
    expect(new Webhook(SECRET).verify(body, headers)).toEqual(JSON.parse(BODY));
    expect(path).toBe("/hook?a=1");
    expect(headers).toMatchObject({
      host: `127.0.0.1:${receiver.port}`,
      "content-type": "application/json",
      "webhook-id": "call-1",
    });
  });

  it("is signed with every secret that is in use", async () => {
    await using receiver = await new Receiver().start();
    const former = newWebhookSecret();
    using sender = privateSender({ secret: [SECRET, former] });
    await sender.send(order(receiver.url));
    for (const secret of [SECRET, former])
      expect(
        receiver.received.map(({ body, headers }) => new Webhook(secret).verify(body, headers)),
      ).toHaveLength(1);
  });

  it("has the same id and a new time at every try", async () => {
    await using receiver = await new Receiver().start();
    let now = Date.UTC(2026, 0, 1);
    using sender = privateSender({ clock: { now: () => now } });
    await sender.send(order(receiver.url));
    now += 60_000;
    await sender.send(order(receiver.url));
    const times = receiver.received.map(({ headers }) => Number(headers["webhook-timestamp"]));
    expect(times).toEqual([Date.UTC(2026, 0, 1) / 1_000, Date.UTC(2026, 0, 1) / 1_000 + 60]);
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual(["call-1", "call-1"]);
  });

  it("goes over the connection the last one left, and over a new one when that has ended", async () => {
    await using receiver = await new Receiver().start();
    using sender = privateSender();
    for (let nth = 0; nth < 5; nth += 1)
      expect(await sender.send(order(receiver.url))).toMatchObject({ ok: true });
    expect(receiver.accepted).toBe(1);
    receiver.server.closeAllConnections();
    expect(await sender.send(order(receiver.url))).toMatchObject({ ok: true });
    expect(receiver.accepted).toBe(2);
  });

  it("keeps no more idle connections than it was told to", async () => {
    await using receiver = await new Receiver().start();
    using sender = privateSender({ keptConnections: 2 });
    await Promise.all(Array.from({ length: 6 }, () => sender.send(order(receiver.url))));
    const open = () =>
      new Promise<number>((done) => receiver.server.getConnections((_, count) => done(count)));
    await expect.poll(open).toBe(2);
  });

  it("with an id that would blur the signed text is not sent", async () => {
    await using receiver = await new Receiver().start();
    using sender = privateSender();
    for (const id of ["a.1", "", "a b", "a\r\nx: y", "x".repeat(257)])
      expect(await sender.send(order(receiver.url, { id }))).toMatchObject({ ok: false, retryable: false });
    expect(receiver.received).toEqual([]);
  });

  it("cannot be made with a secret that is none", () => {
    expect(() => createWebhookSender({ secret: "hunter2" })).toThrow("E3227");
  });
});

describe("https", () => {
  const names = [{ dns: "hooks.example" }];

  it("is spoken with a host that proves its name", async () => {
    await using receiver = await new TlsUpstream(names).start();
    using sender = publicSender(receiver.port, { ca: receiver.ca });
    expect(await sender.send(order("https://hooks.example/x"))).toEqual({ ok: true, status: 200 });
    expect(receiver.requests[0]?.headers.host).toBe("hooks.example");
  });

  it("is not spoken with one that proves another name, or none", async () => {
    await using receiver = await new TlsUpstream(names).start();
    using trusting = publicSender(receiver.port, { ca: receiver.ca });
    expect(await trusting.send(order("https://other.example/x"))).toMatchObject({
      ok: false,
      retryable: true,
      problem: expect.stringContaining("TLS"),
    });
    using wary = publicSender(receiver.port);
    expect(await wary.send(order("https://hooks.example/x"))).toMatchObject({ ok: false, retryable: true });
    expect(receiver.requests).toEqual([]);
  });

  it("is not spoken with a server that speaks plain http", async () => {
    await using receiver = await new Receiver().start();
    using sender = publicSender(receiver.port);
    expect(await sender.send(order("https://hooks.example/x"))).toMatchObject({ ok: false, retryable: true });
    expect(receiver.received).toEqual([]);
  });
});
