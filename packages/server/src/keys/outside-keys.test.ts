import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KeyRoom, passes, sound, tokenBy } from "./fixtures/key-room.ts";
import { readPublicKeys, type SigningKeys, tokenKeys } from "./index.ts";

let room: KeyRoom;
beforeEach(() => {
  room = new KeyRoom();
});
afterEach(() => room.remove());

describe("keys of outside issuers [L3-PRM-1]", () => {
  const outside = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = { kid: "runtime", privateKey: outside.privateKey };
  const issuers = ["l02-agent-runtime", "sallyport"];
  let pem = "";
  beforeEach(async () => {
    await room.init();
    mkdirSync(join(room.root, "issuers"));
    pem = join(room.root, "issuers", "runtime.pem");
    writeFileSync(pem, outside.publicKey.export({ type: "spki", format: "pem" }));
  });

  it("stand beside the server's own, under the name of their file", () => {
    const keys = sound<SigningKeys["public"]>(tokenKeys({ publicKeys: [pem], issuers }, room.load().public));
    expect(keys.kids).toEqual([room.load().current.kid, "runtime"]);
    expect(passes(tokenBy(room.load().current), keys)).toBe(true);
  });

  it("never sign for the server", () => {
    const keys = sound<SigningKeys["public"]>(tokenKeys({ publicKeys: [pem], issuers }));
    expect(passes(tokenBy(key), keys)).toBe(false);
    expect(keys.find("runtime")?.issuers).toEqual(["l02-agent-runtime"]);
  });

  it("come from a JWKS document too", async () => {
    const jwks = room.file("jwks.json");
    const listed = sound<{ kid: string }[]>(readPublicKeys(room.folder));
    expect(sound<SigningKeys["public"]>(tokenKeys({ jwks, issuers })).kids).toEqual(
      listed.map(({ kid }) => kid),
    );
  });

  it.each([
    ["is missing", "nowhere.pem", undefined],
    ["is private", "private.pem", outside.privateKey.export({ type: "pkcs8", format: "pem" }).toString()],
  ])("are refused with the file's name when it %s", (_, name, content) => {
    const file = join(room.root, name);
    if (content !== undefined) writeFileSync(file, content);
    expect(tokenKeys({ publicKeys: [file], issuers })).toMatchObject({
      code: "E3227",
      message: expect.stringContaining(file),
    });
  });

  it("are refused when the document is not JSON, names a member twice, or has a kid twice", () => {
    for (const text of ["nonsense", '{"keys":[1],"keys":[]}']) {
      writeFileSync(join(room.root, "x.json"), text);
      const message = expect.stringContaining("is not JSON, or names a member twice");
      expect(tokenKeys({ jwks: join(room.root, "x.json"), issuers })).toMatchObject({
        code: "E3227",
        message,
      });
    }
    expect(tokenKeys({ publicKeys: [pem, pem], issuers })).toMatchObject({ code: "E3227" });
  });
});
