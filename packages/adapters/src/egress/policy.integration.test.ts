import type { LookupAddress } from "node:dns";
import { connect } from "node:net";
import type { EgressRule } from "@sallyport/engine/ports";
import { describe, expect, it } from "vitest";
import { openRig, PUBLIC } from "./fixtures/rig.ts";
import { Recorder } from "./fixtures/upstream.ts";

const GET = "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n";
const CONNECT = "CONNECT api.test:80 HTTP/1.1\r\n\r\n";
const SOCKS = "\x05\x01\x00\x05\x01\x00\x03\x08api.test\x00\x50";
const at = (...addresses: string[]): LookupAddress[] =>
  addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

const PRIVATE = [
  "127.0.0.1",
  "10.0.0.1",
  "192.168.1.1",
  "100.64.0.1",
  "::1",
  "fd00::1",
  "::ffff:10.0.0.1",
  "64:ff9b::7f00:1",
  "2002:a00:1::",
];
const GUARDED = [
  "169.254.169.254",
  "169.254.1.1",
  "fd00:ec2::254",
  "fe80::1",
  "::ffff:169.254.169.254",
  "100.100.100.200",
  "168.63.129.16",
];
const NEVER = ["0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "ff02::1", "not-an-address", "", "localhost"];

async function reach(
  rule: EgressRule,
  answers: LookupAddress[][],
  request: string,
): Promise<{ said: string; dialled: string[]; asked: number }> {
  await using upstream = await new Recorder().start();
  let asked = 0;
  const resolve = async () => answers[Math.min(asked++, answers.length - 1)] ?? [];
  await using rig = await openRig({ rules: [rule], resolve, limits: { headMs: 300 } }, upstream.port);
  const said = await rig.speak(request);
  return { said, dialled: rig.dialled.map(({ address }) => address), asked };
}

describe("which addresses a name may lead to [L3-EXE-2]", () => {
  it.each([...PRIVATE, ...GUARDED, ...NEVER])("refuses a name that leads to %j", async (address) => {
    const { said, dialled } = await reach({ host: "api.test" }, [at(address)], GET);
    expect(said).toMatch(/^HTTP\/1\.1 403 .*x-sallyport-code: E3104\r\n.*E3104: api\.test leads to /s);
    if (!NEVER.includes(address)) expect(said).toMatch(/add api\.test to sandbox\.privateHosts/);
    expect(dialled).toEqual([]);
  });

  it.each(PRIVATE)("lets a rule that says so lead to %s", async (address) => {
    const { said, dialled } = await reach({ host: "api.test", allowPrivate: true }, [at(address)], GET);
    expect(said).toMatch(/^HTTP\/1\.1 200 /);
    expect(new Set(dialled)).toEqual(new Set([address]));
  });

  it.each([...GUARDED, ...NEVER])("never lets a name lead to %j, whatever its rule says", async (address) => {
    const { said, dialled } = await reach({ host: "api.test", allowPrivate: true }, [at(address)], GET);
    expect(said).toMatch(/^HTTP\/1\.1 403 /);
    expect(dialled).toEqual([]);
  });

  it.each([
    ["last", [PUBLIC, "1.1.1.1", "127.0.0.1"]],
    ["first", ["10.0.0.1", PUBLIC]],
    ["in IPv6", [PUBLIC, "::1"]],
  ])("refuses all addresses when a private one is %s among them", async (_, addresses) => {
    for (const request of [GET, CONNECT, SOCKS]) {
      const { dialled } = await reach({ host: "api.test" }, [at(...addresses)], request);
      expect(dialled).toEqual([]);
    }
  });

  it.each([
    ["GET", GET, "HTTP/1.1 200"],
    ["CONNECT", CONNECT, "HTTP/1.1 200"],
    ["SOCKS", SOCKS, "\x05\x00\x05\x00"],
  ])(
    "resolves once for %s and dials what it checked, though the next answer would be loopback",
    async (_, request, yes) => {
      await using upstream = await new Recorder().start();
      let asked = 0;
      const resolve = async () => at(asked++ === 0 ? PUBLIC : "127.0.0.1");
      await using rig = await openRig(
        { rules: [{ host: "api.test" }], resolve, limits: { idleMs: 300 } },
        upstream.port,
      );
      expect((await rig.speak(request)).slice(0, yes.length)).toBe(yes);
      expect(asked).toBe(1);
      expect(rig.dialled.map(({ address }) => address)).toEqual([PUBLIC]);
      expect(await rig.speak(GET)).toMatch(/^HTTP\/1\.1 403/);
      expect(rig.dialled).toHaveLength(1);
    },
  );

  it("reaches an address only when it is listed itself", async () => {
    await using upstream = await new Recorder().start();
    const rules: EgressRule[] = [
      { host: "1.1.1.1", port: 80 },
      { host: "10.0.0.1" },
      { host: "169.254.169.254", allowPrivate: true },
      { host: "*" },
    ];
    await using rig = await openRig({ rules }, upstream.port);
    const get = (host: string) =>
      rig.speak(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(await get("1.1.1.1")).toMatch(/^HTTP\/1\.1 200/);
    expect(await get("0x01010101")).toMatch(/^HTTP\/1\.1 200/);
    expect(await get("169.254.169.254")).toMatch(/^HTTP\/1\.1 200/);
    expect(await get("10.0.0.1")).toMatch(/^HTTP\/1\.1 403.*is a private address/s);
    expect(await get("1.0.0.1")).toMatch(/^HTTP\/1\.1 403/);
    expect(await get("127.0.0.1")).toMatch(/^HTTP\/1\.1 403/);
  });

  it("tries the next checked address when one does not answer", async () => {
    await using upstream = await new Recorder().start();
    const dialled: string[] = [];
    await using rig = await openRig({
      rules: [{ host: "api.test" }],
      resolve: async () => at(PUBLIC, "1.1.1.1"),
      dial: ({ address }) => {
        dialled.push(address);
        return connect({ host: "127.0.0.1", port: address === PUBLIC ? 1 : upstream.port });
      },
    });
    expect(await rig.speak(GET)).toMatch(/^HTTP\/1\.1 200/);
    expect(dialled).toEqual([PUBLIC, "1.1.1.1"]);
  });

  it.each([
    ["has no address", async () => []],
    ["is unknown", () => Promise.reject(new Error("ENOTFOUND by 10.1.2.3"))],
    ["is never answered for", () => new Promise<never>(() => undefined)],
  ])("says 502 when a name %s, and nothing of the resolver", async (_, resolve) => {
    await using rig = await openRig({ rules: [{ host: "api.test" }], resolve, limits: { connectMs: 100 } });
    const said = await rig.speak(GET);
    expect(said).toMatch(/^HTTP\/1\.1 502 .*E3304: api\.test could not be resolved/s);
    expect(said).not.toContain("10.1.2.3");
    expect(await rig.speak(SOCKS)).toBe("\x05\x00\x05\x04\x00\x01\0\0\0\0\0\0");
  });

  it("says who does not listen", async () => {
    await using rig = await openRig({ rules: [{ host: "api.test" }] }, 1);
    expect(await rig.speak(GET)).toMatch(
      /^HTTP\/1\.1 502 .*E3304: api\.test:80 could not be connected to \(ECONNREFUSED\)/s,
    );
    expect(await rig.speak(CONNECT)).toMatch(/^HTTP\/1\.1 502 /);
    expect((await rig.speak(SOCKS)).slice(0, 4)).toBe("\x05\x00\x05\x05");
  });
});

describe("refusals [L3-EXE-1]", () => {
  it("name the host, its port and what to do, and are counted", async () => {
    const told: string[] = [];
    await using rig = await openRig({
      rules: [],
      onRefused: ({ host, port, code }) => told.push(`${code} ${host}:${port}`),
    });
    const said = await rig.speak("CONNECT Evil.Test.:8443 HTTP/1.1\r\n\r\n");
    expect(said).toContain("x-sallyport-code: E3104\r\n");
    expect(said).toContain(
      "E3104: evil.test:8443 is not among the hosts this tool may reach. Add evil.test:8443 to",
    );
    await rig.speak("\x05\x01\x00\x05\x01\x00\x03\x09evil.test\x20\xfb");
    expect(rig.egress.refusals()).toEqual([
      {
        host: "evil.test",
        port: 8443,
        code: "E3104",
        why: "evil.test:8443 is not among the hosts this tool may reach.",
        times: 2,
      },
    ]);
    expect(told).toEqual(["E3104 evil.test:8443", "E3104 evil.test:8443"]);
  });
});
