import type { LookupAddress } from "node:dns";
import { describe, expect, it } from "vitest";
import { TlsUpstream } from "../egress/fixtures/tls-upstream.ts";
import { INWARD_URLS, NEVER_URLS } from "./fixtures/hostile-urls.ts";
import { PUBLIC, privateSender, publicSender, Receiver } from "./fixtures/receiver.ts";

const order = (url: string) => ({ id: "call-1", url, body: "{}" });
const answers = (...addresses: string[]): LookupAddress[] =>
  addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

describe("where webhooks may go [L3-API-1]", () => {
  it("is never anything on the list of hostile URLs: nothing is looked up, nothing dialled", async () => {
    await using receiver = await new Receiver().start();
    let lookedUp = 0;
    const resolve = async () => {
      lookedUp += 1;
      return answers(PUBLIC);
    };
    using sender = publicSender(receiver.port, { resolve });
    for (const url of [...NEVER_URLS, ...INWARD_URLS])
      expect(await sender.send(order(url)), url).toMatchObject({ ok: false, retryable: false });
    expect([lookedUp, sender.dialled, receiver.accepted]).toEqual([0, [], 0]);
  });

  it.each([
    ["loopback", ["127.0.0.1"]],
    ["private", ["10.1.2.3"]],
    ["shared", ["100.64.0.1"]],
    ["link-local", ["169.254.7.7"]],
    ["metadata", ["169.254.169.254"]],
    ["multicast", ["224.0.0.1"]],
    ["unspecified", ["0.0.0.0"]],
    ["IPv4 in IPv6", ["::ffff:127.0.0.1"]],
    ["NAT64", ["64:ff9b::a00:1"]],
    ["6to4", ["2002:7f00:1::"]],
    ["unique local", ["fd00::1"]],
    ["a zone", ["fe80::1%eth0"]],
    ["no address at all", ["hooks.example"]],
    ["one private among public ones", [PUBLIC, "10.0.0.1"]],
  ])("is no name that leads to %s", async (_, addresses) => {
    await using receiver = await new Receiver().start();
    using sender = publicSender(receiver.port, { resolve: async () => answers(...addresses) });
    const sent = await sender.send(order("https://hooks.example/x"));
    expect(sent).toMatchObject({ ok: false, retryable: false });
    expect(sender.dialled).toEqual([]);
    // What a name leads to here is not for the one who gave the URL.
    for (const address of addresses.filter((text) => text !== "hooks.example"))
      expect(JSON.stringify(sent)).not.toContain(address);
  });

  it("is the address that was checked, whatever the name leads to a moment later", async () => {
    await using receiver = await new TlsUpstream([{ dns: "hooks.example" }]).start();
    const turns = [answers(PUBLIC), answers("127.0.0.1")];
    const resolve = async () => turns.shift() ?? answers("127.0.0.1");
    using sender = publicSender(receiver.port, { resolve, ca: receiver.ca, keptConnections: 0 });
    expect(await sender.send(order("https://hooks.example/x"))).toMatchObject({ ok: true });
    expect(sender.dialled).toMatchObject([{ address: PUBLIC, port: 443 }]);
    expect(turns).toHaveLength(1);
    expect(await sender.send(order("https://hooks.example/x"))).toMatchObject({
      ok: false,
      retryable: false,
    });
    expect(sender.dialled).toHaveLength(1);
  });

  it("tries the next address when one does not answer", async () => {
    await using receiver = await new Receiver().start();
    using sender = privateSender({ resolve: async () => answers("127.0.0.2", "127.0.0.1") });
    expect(await sender.send(order(`http://hooks.test:${receiver.port}/x`))).toMatchObject({ ok: true });
    expect(receiver.received).toMatchObject([{ headers: { host: `hooks.test:${receiver.port}` } }]);
  });

  it("is nothing public by plain http, even where private addresses are allowed", async () => {
    await using receiver = await new Receiver().start();
    using sender = publicSender(receiver.port, { allowPrivate: true });
    expect(await sender.send(order("http://hooks.example/x"))).toMatchObject({ ok: false, retryable: false });
    expect(sender.dialled).toEqual([]);
  });

  it("is no metadata service, even where private addresses are allowed", async () => {
    using sender = publicSender(1, { allowPrivate: true, resolve: async () => answers("169.254.169.254") });
    expect(await sender.send(order("http://metadata.internal/x"))).toMatchObject({
      ok: false,
      retryable: false,
    });
    expect(sender.dialled).toEqual([]);
  });

  it("a name nobody knows is asked for again later", async () => {
    const resolve = async () => {
      throw Object.assign(new Error("queryA ENOTFOUND"), { code: "ENOTFOUND" });
    };
    using sender = publicSender(1, { resolve });
    expect(await sender.send(order("https://hooks.example/x"))).toMatchObject({ ok: false, retryable: true });
  });
});
