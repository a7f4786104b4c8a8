import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { type Failure, isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { HOUSE, OUTSIDE } from "./fixtures/token-forge.ts";
import { keySetOf, keysFromJwks, keysFromPem, thumbprint } from "./keys.ts";

const spki = HOUSE.publicKey.export({ type: "spki", format: "pem" }).toString();
const pkcs1 = HOUSE.publicKey.export({ type: "pkcs1", format: "pem" }).toString();
const jwk = { ...HOUSE.publicKey.export({ format: "jwk" }), kid: "house-1", use: "sig", alg: "RS256" };

const pemOf = (key: KeyObject) => key.export({ type: "spki", format: "pem" }).toString();
const rsa = (modulusLength: number, publicExponent = 65_537) =>
  generateKeyPairSync("rsa", { modulusLength, publicExponent }).publicKey;
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
const pss = generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).publicKey;

function refusal(answer: object): Failure {
  if (!isFailure(answer)) throw new Error("was taken");
  expect(answer.code).toBe("E3227");
  return answer;
}

describe("keys from PEM [L3-PRM-1]", () => {
  it.each([
    ["SPKI", spki],
    ["PKCS #1", pkcs1],
    ["with text around it", `# our key\n${spki}\n`],
  ])("takes %s", (_, pem) => {
    const [key, ...more] = keysFromPem(pem, { kid: "a", issuers: ["x"] }) as {
      kid: string;
      publicKey: KeyObject;
    }[];
    expect(more).toEqual([]);
    expect(key).toMatchObject({ kid: "a", issuers: ["x"] });
    expect(key?.publicKey.equals(HOUSE.publicKey)).toBe(true);
  });

  it("names a key by its thumbprint when nobody else does", () => {
    expect(keysFromPem(spki)).toMatchObject([{ kid: thumbprint(HOUSE.publicKey) }]);
  });

  it.each([
    ["a private key", HOUSE.privateKey.export({ type: "pkcs8", format: "pem" }).toString(), /private key/],
    [
      "a PKCS #1 private key",
      HOUSE.privateKey.export({ type: "pkcs1", format: "pem" }).toString(),
      /private/,
    ],
    [
      "a private key behind a public one",
      `${spki}${HOUSE.privateKey.export({ type: "pkcs8", format: "pem" })}`,
      /private/,
    ],
    ["two keys", spki + pemOf(OUTSIDE.publicKey), /2 PEM blocks/],
    ["nothing", "", /0 PEM blocks/],
    ["a certificate", spki.replaceAll("PUBLIC KEY", "CERTIFICATE"), /CERTIFICATE/],
    ["a damaged key", spki.replace(/MII/, "AAA"), /cannot be read/],
    ["an elliptic curve", pemOf(ec), /not an RSA/],
    ["an RSA-PSS key", pemOf(pss), /not an RSA/],
    ["1024 bits", pemOf(rsa(1024)), /1024 bits/],
    ["the exponent 3", pemOf(rsa(2048, 3)), /exponent 3/],
  ])("refuses %s and says so", (_, pem, words) => {
    const { message, advice } = refusal(keysFromPem(pem));
    expect(message).toMatch(words);
    expect(message + advice).not.toContain("MII");
  });
});

describe("keys from a JWKS document [L3-PRM-1]", () => {
  it("takes RSA signing keys, with and without what is optional", () => {
    const { use: _use, alg: _alg, kid: _kid, ...bare } = jwk;
    const keys = keysFromJwks({ keys: [jwk, { ...bare, key_ops: ["verify"] }] });
    expect(keys).toMatchObject([{ kid: "house-1" }, { kid: thumbprint(HOUSE.publicKey) }]);
  });

  it.each([
    ["no list", { kid: "a" }, /no list named keys/],
    ["an entry that is none", { keys: [null] }, /not an object/],
    ["another kind of key", { keys: [{ ...ec.export({ format: "jwk" }), kid: "a" }] }, /not an RSA key/],
    ["a symmetric key", { keys: [{ kty: "oct", k: "c2VjcmV0", kid: "a" }] }, /private key/],
    ["a private key", { keys: [{ ...HOUSE.privateKey.export({ format: "jwk" }), kid: "a" }] }, /private key/],
    ["a key for encryption", { keys: [{ ...jwk, use: "enc" }] }, /not "sig"/],
    ["a key for RS512", { keys: [{ ...jwk, alg: "RS512" }] }, /another algorithm/],
    ["a key that only signs", { keys: [{ ...jwk, key_ops: ["sign"] }] }, /key_ops/],
    ["a kid that is a number", { keys: [{ ...jwk, kid: 1 }] }, /kid that is not a text/],
    ["no modulus", { keys: [{ ...jwk, n: undefined }] }, /no modulus/],
    ["an empty modulus", { keys: [{ ...jwk, n: "" }] }, /cannot be read|0 bits/],
    ["a short modulus", { keys: [rsa(1024).export({ format: "jwk" })] }, /1024 bits/],
  ])("refuses %s and says so", (_, document, words) => {
    expect(refusal(keysFromJwks(document)).message).toMatch(words);
  });

  it("names every wrong key by its place", () => {
    const { issues } = refusal(keysFromJwks({ keys: [jwk, { ...jwk, use: "enc" }, 1] }));
    expect(issues?.map(({ path }) => path)).toEqual(["/keys/1", "/keys/2"]);
  });
});

describe("a set of keys [L3-PRM-1]", () => {
  it("has several at once, and one for tokens without kid only if it is the only one", () => {
    const both = keySetOf([HOUSE, OUTSIDE]);
    const one = keySetOf([HOUSE]);
    if (isFailure(both) || isFailure(one)) throw new Error("refused");
    expect(both.kids).toEqual([HOUSE.kid, OUTSIDE.kid]);
    expect(both.find(OUTSIDE.kid)?.publicKey).toBe(OUTSIDE.publicKey);
    expect([both.find(undefined), one.find("other")]).toEqual([undefined, undefined]);
    expect(one.find(undefined)?.kid).toBe(HOUSE.kid);
  });

  it.each([
    ["two of the same kid", [HOUSE, { ...OUTSIDE, kid: HOUSE.kid }], /same kid/],
    ["an empty kid", [{ ...HOUSE, kid: "" }], /kid that is empty/],
    ["a private key", [{ kid: "a", publicKey: HOUSE.privateKey }], /private key/],
    ["a weak key", [{ kid: "a", publicKey: rsa(1024) }], /1024 bits/],
    [
      "a key of another kind",
      [{ kid: "a", publicKey: createPublicKey(ec.export({ type: "spki", format: "pem" })) }],
      /not an RSA/,
    ],
  ])("is refused with %s", (_, entries, words) => {
    expect(refusal(keySetOf(entries)).message).toMatch(words);
  });
});
