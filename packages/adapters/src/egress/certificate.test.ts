import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { makeCertificate } from "./certificate.ts";
import { readTarget } from "./destination.ts";
import { readRules } from "./rules.ts";
import { SandboxAuthority } from "./sandbox-authority.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const credential = { secret: "s", as: { header: "x-key", value: "{secret}" }, intercept: true };

async function authorityFor(...hosts: string[]): Promise<SandboxAuthority> {
  const rules = readRules(hosts.map((host) => ({ host, credential })));
  const made = await SandboxAuthority.forRules([...rules, ...readRules([{ host: "blind.test" }])], {
    now: () => NOW,
  });
  if (!made) throw new Error("no authority");
  return made;
}

function leafOf(authority: SandboxAuthority, target: string): X509Certificate {
  const to = readTarget(target);
  if (!to) throw new Error(`${target} is no target`);
  return new X509Certificate(authority.issue(to).cert);
}

describe("a sandbox's own authority [L3-EXE-2]", () => {
  it("is not made when no rule asks for it", async () => {
    expect(
      await SandboxAuthority.forRules(readRules([{ host: "a.test" }]), { now: () => NOW }),
    ).toBeUndefined();
  });

  it("is an authority for one day, on P-256, and a new one each time", async () => {
    const [one, other] = [await authorityFor("api.test"), await authorityFor("api.test")];
    const read = new X509Certificate(one.certificate);
    expect(read.ca).toBe(true);
    expect(read.verify(read.publicKey)).toBe(true);
    expect(read.publicKey.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
    expect(read.validFromDate.getTime()).toBe(NOW - 300_000);
    expect(read.validToDate.getTime()).toBe(NOW + 86_400_000);
    expect(one.certificate).not.toBe(other.certificate);
    expect(one.certificate).not.toContain("PRIVATE");
  });

  it.each([
    ["api.test:443", "DNS:api.test"],
    ["127.0.0.1:443", "IP Address:127.0.0.1"],
    ["[2606:4700::1]:443", "IP Address:2606:4700:0:0:0:0:0:1"],
  ])("signs for %s", async (target, name) => {
    const authority = await authorityFor("api.test", "127.0.0.1", "[2606:4700::1]");
    const [issuer, leaf] = [new X509Certificate(authority.certificate), leafOf(authority, target)];
    expect(leaf.subjectAltName).toBe(name);
    expect(leaf.verify(issuer.publicKey)).toBe(true);
    expect(leaf.checkIssued(issuer)).toBe(true);
    expect([leaf.ca, leaf.keyUsage]).toEqual([false, ["1.3.6.1.5.5.7.3.1"]]);
    expect(leaf.publicKey.equals(issuer.publicKey)).toBe(false);
  });
});

describe("a certificate's encoding [L3-EXE-2]", () => {
  it.each([
    "2026-11-16T05:00:00.000Z",
    "2049-12-31T23:59:59.000Z",
    "2050-01-01T00:00:00.000Z",
    "2100-06-01T00:00:00.000Z",
  ])("can end at %s", (end) => {
    const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const issuer = { commonName: "x", ...keys };
    const cert = makeCertificate(
      { ...issuer, notBefore: new Date(0), notAfter: new Date(end), names: [{ dns: "a.test" }] },
      issuer,
    );
    expect(new X509Certificate(cert).validToDate.toISOString()).toBe(end);
  });

  it("holds many and long names", () => {
    const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const names = Array.from({ length: 400 }, (_, at) => ({ dns: `${"a".repeat(60)}.${at}.test` }));
    const issuer = { commonName: "x", ...keys };
    const cert = makeCertificate(
      { ...issuer, notBefore: new Date(0), notAfter: new Date(NOW), names },
      issuer,
    );
    expect(new X509Certificate(cert).subjectAltName?.split(", ")).toHaveLength(400);
  });

  it("has a positive serial number, whatever chance gives", () => {
    const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const issuer = { commonName: "x", ...keys };
    for (let round = 0; round < 50; round += 1) {
      const cert = makeCertificate({ ...issuer, notBefore: new Date(0), notAfter: new Date(NOW) }, issuer);
      expect(new X509Certificate(cert).serialNumber).toMatch(/^[0-9A-F]+$/);
    }
  });
});
