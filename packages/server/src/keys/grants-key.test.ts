import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KeyRoom, sound } from "./fixtures/key-room.ts";
import { ensureGrantsKey } from "./index.ts";

let room: KeyRoom;
beforeEach(() => {
  room = new KeyRoom();
});
afterEach(() => room.remove());

describe("the key for grants", () => {
  it("is made once, in a folder of its own if need be, and kept", () => {
    const key = sound<Buffer>(ensureGrantsKey(room.folder));
    expect(key).toHaveLength(32);
    expect(ensureGrantsKey(room.folder)).toEqual(key);
    expect(room.modeOf("grants.key")).toBe(0o600);
    expect(readdirSync(room.folder)).toEqual(["grants.key"]);
  });

  it("is there when signing keys are made later, and cannot be made in a file", async () => {
    const key = ensureGrantsKey(room.folder);
    await room.init();
    expect(room.load().grantsKey).toEqual(key);
    writeFileSync(join(room.root, "file"), "");
    expect(ensureGrantsKey(join(room.root, "file", "keys"))).toMatchObject({ code: "E3227" });
  });
});
