import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newWebhookSecret } from "@sallyport/adapters/webhook";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KeyRoom, sound } from "./fixtures/key-room.ts";
import { ensureWebhookSecret, WEBHOOK_FILE, webhookSecretsIn } from "./webhook-secret.ts";

let room: KeyRoom;
beforeEach(() => {
  room = new KeyRoom();
});
afterEach(() => room.remove());

describe("the webhook secret", () => {
  it("is made once, for its owner alone, in the form receivers take, and kept", () => {
    const [secret] = sound<string[]>(ensureWebhookSecret(room.folder));
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(ensureWebhookSecret(room.folder)).toEqual([secret]);
    expect(room.modeOf(WEBHOOK_FILE)).toBe(0o600);
    expect(readdirSync(room.folder)).toEqual([WEBHOOK_FILE]);
  });

  it("survives a change of the signing keys", async () => {
    const secrets = ensureWebhookSecret(room.folder);
    await room.init();
    await room.rotate();
    expect(ensureWebhookSecret(room.folder)).toEqual(secrets);
  });

  it("is changed by a new line on top: both are signed with", () => {
    const [former] = sound<string[]>(ensureWebhookSecret(room.folder));
    const present = newWebhookSecret();
    writeFileSync(room.file(WEBHOOK_FILE), `${present}\n${former}\n`);
    expect(ensureWebhookSecret(room.folder)).toEqual([present, former]);
  });

  it("is not used when others can read it, when it is damaged, or when the folder is a file", () => {
    ensureWebhookSecret(room.folder);
    chmodSync(room.file(WEBHOOK_FILE), 0o644);
    expect(ensureWebhookSecret(room.folder)).toMatchObject({ code: "E3227" });
    chmodSync(room.file(WEBHOOK_FILE), 0o600);
    writeFileSync(room.file(WEBHOOK_FILE), "hunter2hunter2");
    const damaged = ensureWebhookSecret(room.folder);
    expect(damaged).toMatchObject({ code: "E3227" });
    expect(JSON.stringify(damaged)).not.toContain("hunter2");
    expect(readFileSync(room.file(WEBHOOK_FILE), "utf8")).toBe("hunter2hunter2");
    writeFileSync(join(room.root, "file"), "");
    expect(ensureWebhookSecret(join(room.root, "file", "keys"))).toMatchObject({ code: "E3227" });
  });

  it("can be configured, with those before it", () => {
    const [one, other] = [newWebhookSecret(), newWebhookSecret()];
    expect(webhookSecretsIn(` ${one}\n${other} `)).toEqual([one, other]);
    expect(webhookSecretsIn("")).toMatchObject({ code: "E3227" });
    expect(webhookSecretsIn(`${one} x`)).toMatchObject({ code: "E3227" });
  });
});
