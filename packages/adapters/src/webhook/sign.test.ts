import { isFailure } from "@sallyport/protocol";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { newWebhookSecret, readWebhookSecrets } from "./secret.ts";
import { signedHeaders } from "./sign.ts";

const MESSAGE = { id: "call-1", at: Date.now(), body: '{"x":"ü"}' };

function keysOf(...secrets: string[]) {
  const keys = readWebhookSecrets(secrets);
  if (isFailure(keys)) throw new Error(keys.message);
  return keys;
}

describe("a signature [L3-API-1]", () => {
  it("is what a receiver's library takes", () => {
    const secret = newWebhookSecret();
    const headers = signedHeaders(MESSAGE, keysOf(secret));
    expect(new Webhook(secret).verify(MESSAGE.body, headers)).toEqual({ x: "ü" });
    const theirs = new Webhook(secret).sign(MESSAGE.id, new Date(MESSAGE.at), MESSAGE.body);
    expect(headers["webhook-signature"]).toBe(theirs);
  });

  it("is refused for another body, id, time or secret", () => {
    const secret = newWebhookSecret();
    const headers = signedHeaders(MESSAGE, keysOf(secret));
    const receiver = new Webhook(secret);
    expect(() => receiver.verify('{"x":"u"}', headers)).toThrow();
    expect(() => receiver.verify(MESSAGE.body, { ...headers, "webhook-id": "call-2" })).toThrow();
    const later = String(Number(headers["webhook-timestamp"]) + 1);
    expect(() => receiver.verify(MESSAGE.body, { ...headers, "webhook-timestamp": later })).toThrow();
    expect(() => new Webhook(newWebhookSecret()).verify(MESSAGE.body, headers)).toThrow();
  });

  it("of an old message is refused", () => {
    const secret = newWebhookSecret();
    const headers = signedHeaders({ ...MESSAGE, at: Date.now() - 3_600_000 }, keysOf(secret));
    expect(() => new Webhook(secret).verify(MESSAGE.body, headers)).toThrow("too old");
  });

  it("comes once for each secret, so that receivers can change theirs one by one", () => {
    const [present, former] = [newWebhookSecret(), newWebhookSecret()];
    const headers = signedHeaders(MESSAGE, keysOf(present, former));
    for (const secret of [present, former])
      expect(new Webhook(secret).verify(MESSAGE.body, headers)).toEqual({ x: "ü" });
  });
});

describe("a secret", () => {
  it.each([
    ["nothing", []],
    ["an empty text", [""]],
    ["no prefix", [Buffer.alloc(32).toString("base64")]],
    ["too few bytes", [`whsec_${Buffer.alloc(23).toString("base64")}`]],
    ["too many bytes", [`whsec_${Buffer.alloc(65).toString("base64")}`]],
    ["something that is not base64", [`whsec_${"!".repeat(40)}`]],
    ["one good and one bad", [newWebhookSecret(), "whsec_x"]],
    ["too many", Array.from({ length: 5 }, newWebhookSecret)],
  ])("cannot be %s, and is not quoted", (_, secrets) => {
    const read = readWebhookSecrets(secrets);
    expect(read).toMatchObject({ code: "E3227", advice: expect.stringContaining("openssl") });
    for (const secret of secrets.filter((text) => text.length > 8))
      expect(JSON.stringify(read)).not.toContain(secret.slice(6));
  });

  it("is new each time", () => {
    expect(newWebhookSecret()).not.toBe(newWebhookSecret());
  });
});
