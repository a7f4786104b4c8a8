import { generateKeyPairSync } from "node:crypto";
import { chmodSync, cpSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KeyRoom } from "./fixtures/key-room.ts";
import { loadKeys } from "./index.ts";

let room: KeyRoom;
beforeEach(() => {
  room = new KeyRoom();
});
afterEach(() => room.remove());

describe("a key folder that cannot be trusted [L3-PRM-1]", () => {
  const signing = () => names().find((name) => name.startsWith("signing-")) ?? "";
  const names = () => readdirSync(room.folder);
  beforeEach(() => room.init());

  it.each([
    ["a folder open to others", () => chmodSync(room.folder, 0o750), /chmod 700 .*keys$/],
    ["a signing key open to others", () => chmodSync(room.file(signing()), 0o640), /chmod 600 .*pem$/],
    [
      "a grants key open to others",
      () => chmodSync(room.file("grants.key"), 0o604),
      /chmod 600 .*grants\.key$/,
    ],
    ["a list others may write", () => chmodSync(room.file("jwks.json"), 0o620), /chmod 600 .*jwks\.json$/],
    ["a pointer others may write", () => chmodSync(room.file("current"), 0o602), /chmod 600 .*current$/],
  ])("is refused for %s, with the command that helps", (_, spoil, advice) => {
    spoil();
    expect(loadKeys(room.folder)).toMatchObject({ code: "E3227", advice: expect.stringMatching(advice) });
  });

  it("is accepted although others may read what is public", () => {
    chmodSync(room.file("jwks.json"), 0o644);
    expect(room.load().public.kids).toHaveLength(1);
  });

  it.each([
    ["a pointer that walks up", () => writeFileSync(room.file("current"), "../../x"), /does not name a key/],
    ["a pointer to nothing", () => writeFileSync(room.file("current"), "missing"), /lacks/],
    [
      "a signing key that is none",
      () => writeFileSync(room.file(signing()), "secret text"),
      /not an RSA private key/,
    ],
    ["a list that is none", () => writeFileSync(room.file("jwks.json"), "[]"), /not a list/],
    ["a short grants key", () => writeFileSync(room.file("grants.key"), "short"), /32 bytes/],
    ["no grants key", () => rmSync(room.file("grants.key")), /lacks/],
    ["a link", () => replaceByLink(signing()), /cannot be read/],
    ["a huge file", () => writeFileSync(room.file("jwks.json"), "x".repeat(300_000)), /larger/],
  ])("is refused for %s", (_, spoil, words) => {
    spoil();
    const answer = loadKeys(room.folder);
    expect(answer).toMatchObject({ code: "E3227", message: expect.stringMatching(words) });
    expect(JSON.stringify(answer)).not.toContain("secret text");
  });

  function replaceByLink(name: string): void {
    cpSync(room.file(name), join(room.root, "elsewhere.pem"));
    rmSync(room.file(name));
    symlinkSync(join(room.root, "elsewhere.pem"), room.file(name));
  }

  it("is refused when the list has another key under the name of the one that signs", () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    writeFileSync(room.file(signing()), privateKey.export({ type: "pkcs8", format: "pem" }));
    expect(loadKeys(room.folder)).toMatchObject({
      code: "E3227",
      message: expect.stringContaining("another key"),
    });
  });

  it("is told from one that is not there", () => {
    expect(loadKeys(join(room.root, "nowhere"))).toMatchObject({
      code: "E3227",
      advice: expect.stringContaining("keys init"),
    });
  });
});
