import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressKind } from "../egress/address-kind.ts";
import { INWARD_URLS, NEVER_URLS } from "./fixtures/hostile-urls.ts";
import { readWebhookUrl, refuseCallbackUrl } from "./webhook-url.ts";

const PUBLIC_ONLY = { allowPrivate: false };
const PRIVATE_TOO = { allowPrivate: true };

describe("a callback URL at the door [L3-API-1]", () => {
  it("is refused in many disguises, with the field's place", () => {
    expect(new Set([...NEVER_URLS, ...INWARD_URLS]).size).toBeGreaterThanOrEqual(60);
  });

  it.each(NEVER_URLS)("%j is never taken", (url) => {
    for (const rules of [PUBLIC_ONLY, PRIVATE_TOO])
      expect(refuseCallbackUrl(url, rules)).toMatchObject({
        code: "E3903",
        issues: [{ path: "/execution_options/callback_url", reason: expect.any(String) }],
      });
  });

  it.each(INWARD_URLS)("%j is refused unless private addresses are allowed", (url) => {
    expect(refuseCallbackUrl(url, PUBLIC_ONLY)).toMatchObject({ code: "E3903" });
  });

  it.each(INWARD_URLS.filter((url) => !url.startsWith("http://example.com")))("%j is taken then", (url) => {
    expect(refuseCallbackUrl(url, PRIVATE_TOO)).toBeUndefined();
  });

  it.each([
    "https://example.com",
    "https://example.com/hook?x=1&y=%20",
    "HTTPS://Example.COM:8443/hook",
    "https://xn--bcher-kva.example/hook",
    "https://bücher.example/hook",
    "https://93.184.216.34/hook",
    "https://[2606:4700::1111]/hook",
    "https://example.com:443/",
    "https://example.com/a@b",
    "https://a-b_c.example.com/hook",
  ])("%j is taken", (url) => {
    expect(refuseCallbackUrl(url, PUBLIC_ONLY)).toBeUndefined();
  });

  it("with a password in it is refused for that", () => {
    expect(refuseCallbackUrl("https://u:p@example.com/x", PUBLIC_ONLY)?.message).toContain("password");
  });

  it.each([
    ["https://0.0.0.0/x", "0.0.0.0 is an unspecified address"],
    ["https://127.0.0.1/x", "127.0.0.1 is a loopback address"],
  ])("%s is refused in plain English", (url, reason) => {
    expect(refuseCallbackUrl(url, PUBLIC_ONLY)?.issues).toMatchObject([{ reason }]);
  });

  it("by plain http is for private addresses only", () => {
    expect(refuseCallbackUrl("http://93.184.216.34/x", PRIVATE_TOO)).toMatchObject({ code: "E3903" });
    expect(refuseCallbackUrl("http://192.168.1.1/x", PRIVATE_TOO)).toBeUndefined();
  });

  it("never shows its path, its query or its password in a refusal", () => {
    for (const url of ["https://user:hunter2@example.com/hunter2", "http://127.0.0.1/hunter2?t=hunter2"])
      expect(JSON.stringify(refuseCallbackUrl(url, PUBLIC_ONLY))).not.toContain("hunter2");
  });
});

describe("reading a URL", () => {
  it("gives one spelling of its parts", () => {
    expect(readWebhookUrl("HTTPS://Example.COM./a/../b?x=ü", PUBLIC_ONLY)).toEqual({
      to: { name: "example.com", port: 443, address: undefined },
      secure: true,
      path: "/b?x=%C3%BC",
    });
    expect(readWebhookUrl("https://example.com:8443", PUBLIC_ONLY)).toMatchObject({
      to: { port: 8443 },
      path: "/",
    });
  });

  it("never throws, and never takes an address that is not public", () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const host = fc.oneof(
      fc.tuple(octet, octet, octet, octet).map((parts) => parts.join(".")),
      fc.ipV6().map((address) => `[${address}]`),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }).map((number) => `0x${number.toString(16)}`),
      fc.string(),
    );
    fc.assert(
      fc.property(host, (text) => {
        const read = readWebhookUrl(`https://${text}/x`, PUBLIC_ONLY);
        if ("problem" in read || read.to.address === undefined) return;
        expect(addressKind(read.to.address)).toBe("public");
      }),
    );
  });
});
