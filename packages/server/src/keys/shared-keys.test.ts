import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createMemoryStore } from "@sallyport/engine";
import { isFailure } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../config/load.ts";
import { keySharingOf } from "./configured-sharing.ts";
import { KeyRoom, passes, sound, tokenBy } from "./fixtures/key-room.ts";
import { initKeys, type KeyChange, rotateKeys } from "./index.ts";
import { type Sealing, sealingWith } from "./key-sealing.ts";
import { changeSharedKeys, type KeySharing, replaceKeys, shareKeys } from "./shared-keys.ts";

const SECRETS = ["grants.key", "operator.key", "webhook.secret"];
const key = () => randomBytes(32).toString("base64");
const sealing = (text: string) => sound<Sealing>(sealingWith(text, "The variable KEYS"));

let rooms: KeyRoom[];
let store: ReturnType<typeof createMemoryStore>;

beforeEach(() => {
  store = createMemoryStore();
  rooms = [new KeyRoom(), new KeyRoom(), new KeyRoom()];
});
afterEach(() => {
  for (const room of rooms) room.remove();
});

function room(n: number): KeyRoom {
  return rooms[n] ?? new KeyRoom();
}

function sharing(n: number, seal?: Sealing): KeySharing {
  return { store, folder: room(n).folder, sealing: seal };
}

const contents = (n: number) =>
  Object.fromEntries(
    readdirSync(room(n).folder)
      .filter((name) => !/^(lock\.db|shared\.json)$/.test(name))
      .map((name) => [name, readFileSync(room(n).file(name), "base64")]),
  );

async function rotate(n: number, seal?: Sealing): Promise<KeyChange> {
  return sound<KeyChange>(await changeSharedKeys(sharing(n, seal), () => rotateKeys(room(n).folder)));
}

describe("keys in a shared store", () => {
  const seal = sealing(key());

  it("are those of the first process, for all, and nobody reads them in the store", async () => {
    await room(0).init();
    expect(await shareKeys(sharing(0, seal))).toBeUndefined();
    expect(await Promise.all([1, 2].map((n) => shareKeys(sharing(n, seal))))).toEqual([undefined, undefined]);
    const [first, ...others] = [contents(0), contents(1), contents(2)];
    expect(others).toEqual([first, first]);
    for (const name of SECRETS) expect(room(2).modeOf(name)).toBe(0o600);
    const kept = JSON.stringify(await store.records.list("keys", { limit: 10 }));
    for (const text of ["PRIVATE KEY", "spo_", "whsec_", ...Object.values(first ?? {})])
      expect(kept).not.toContain(text);
  });

  it("are the same for processes that start at once and have none", async () => {
    const all = [0, 1, 2];
    expect(await Promise.all(all.map((n) => shareKeys(sharing(n, seal))))).toEqual(all.map(() => undefined));
    expect([contents(1), contents(2)]).toEqual([contents(0), contents(0)]);
  });

  it("are changed for all by one process, and tokens of before stay good", async () => {
    sound(await changeSharedKeys(sharing(0, seal), () => initKeys(room(0).folder)));
    await shareKeys(sharing(1, seal));
    const old = tokenBy(room(1).load().current);
    const { kid } = await rotate(1, seal);
    expect(await shareKeys(sharing(0, seal))).toBeUndefined();
    expect(room(0).load().current.kid).toBe(kid);
    expect(contents(0)).toEqual(contents(1));
    expect(passes(old, room(0).load().public)).toBe(true);
  });

  it("are the faster process's when two change them at once", async () => {
    sound(await changeSharedKeys(sharing(0, seal), () => initKeys(room(0).folder)));
    await shareKeys(sharing(1, seal));
    const slow = await changeSharedKeys(sharing(0, seal), async () => {
      await rotate(1, seal);
      return await rotateKeys(room(0).folder);
    });
    expect(slow).toMatchObject({ code: "E3227", message: expect.stringContaining("at the same time") });
    expect(contents(0)).toEqual(contents(1));
  });

  it("do not take the place of keys that a folder has of its own, until somebody says so", async () => {
    await shareKeys(sharing(0, seal));
    await room(1).init();
    const before = contents(1);
    expect(await shareKeys(sharing(1, seal))).toMatchObject({
      code: "E3227",
      message: expect.stringContaining("grants.key"),
      advice: expect.stringContaining("keys share"),
    });
    expect(contents(1)).toEqual(before);
    expect(await replaceKeys(sharing(1, seal))).toBeUndefined();
    expect(await shareKeys(sharing(0, seal))).toBeUndefined();
    expect(contents(0)).toEqual(contents(1));
  });

  it("open with an earlier encryption key too, and with no other", async () => {
    const [old, fresh] = [key(), key()];
    await shareKeys(sharing(0, sealing(old)));
    expect(await shareKeys(sharing(1, sealing(fresh)))).toMatchObject({
      code: "E3227",
      message: expect.stringContaining("encrypted with another key"),
      advice: "Give this process the key that the others have, in the variable KEYS.",
    });
    expect(existsSync(room(1).folder)).toBe(false);
    expect(await shareKeys(sharing(1, sealing(`${fresh}\n${old}`)))).toBeUndefined();
    await replaceKeys(sharing(1, sealing(`${fresh}\n${old}`)));
    expect(await shareKeys(sharing(0, sealing(fresh)))).toBeUndefined();
    expect(await shareKeys(sharing(2))).toMatchObject({ message: expect.stringContaining("no key to open") });
  });

  it("cannot be opened without a key: the advice says how to set it, not to make other keys", () => {
    const folder = room(0).root;
    const keyEncryption = "keyEncryption: { env: SALLYPORT_NO_SUCH_KEY }";
    writeFileSync(
      join(folder, "sallyport.yaml"),
      `store: { postgres: { url: "postgres://h/d" }, ${keyEncryption} }`,
    );
    const config = loadConfig({ cwd: folder });
    expect(() => keySharingOf(config, store)).toThrow(
      expect.objectContaining({
        failure: expect.objectContaining({ advice: expect.stringMatching(/^Set it to/) }),
      }),
    );
  });

  it("are refused when the store's text was changed", async () => {
    await shareKeys(sharing(0, seal));
    const found = await store.records.get("keys", "server");
    const { prints, sealed } = JSON.parse(found?.body ?? "{}");
    const bytes = Buffer.from(sealed, "base64");
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    const body = JSON.stringify({ prints, sealed: bytes.toString("base64") });
    await store.commit({
      tenant: "t",
      records: [{ kind: "keys", id: "server", body }],
    });
    expect(await shareKeys(sharing(1, seal))).toMatchObject({ code: "E3227" });
  });

  it.each(["", "short", "x".repeat(44), `${key()} short`])(
    "need 32 bytes to be encrypted with, not %j",
    (text) => {
      const refused = sealingWith(text, "The variable KEYS");
      expect(refused).toMatchObject({ code: "E3227", message: expect.stringContaining("The variable KEYS") });
      if (text) expect(JSON.stringify(refused)).not.toContain(text);
    },
  );
});

describe("keys that an operator distributes", () => {
  it("are refused where they differ from those of the other processes, by name", async () => {
    expect(await shareKeys(sharing(0))).toBeUndefined();
    expect(await shareKeys(sharing(1))).toMatchObject({
      code: "E3227",
      message: expect.stringContaining(
        "grants.key is missing, operator.key is missing, webhook.secret is missing",
      ),
    });
    await room(1).init();
    for (const name of SECRETS)
      writeFileSync(room(1).file(name), readFileSync(room(0).file(name)), { mode: 0o600 });
    expect(await shareKeys(sharing(1))).toBeUndefined();
    writeFileSync(room(1).file("grants.key"), randomBytes(32));
    expect(await shareKeys(sharing(1))).toMatchObject({
      message: expect.stringContaining("grants.key differs"),
    });
    expect(JSON.stringify(await store.records.list("keys", { limit: 10 }))).not.toContain("sealed");
  });

  it("go into the store once there is a key to encrypt them with", async () => {
    await shareKeys(sharing(0));
    const seal = sealing(key());
    expect(await shareKeys(sharing(0, seal))).toBeUndefined();
    expect(await shareKeys(sharing(1, seal))).toBeUndefined();
    expect(contents(1)).toEqual(contents(0));
    rmSync(room(1).folder, { recursive: true });
    chmodSync(room(0).folder, 0o755);
    expect(isFailure((await shareKeys(sharing(0, seal))) ?? {})).toBe(true);
  });
});
