import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { APPROVAL_ISSUER } from "@sallyport/engine/host";
import { isFailure } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KeyRoom, passes, tokenBy } from "./fixtures/key-room.ts";
import { initKeys, loadKeys, rotateKeys } from "./index.ts";

const LOCK_TAKER = fileURLToPath(new URL("./fixtures/lock-taker.ts", import.meta.url));

let room: KeyRoom;
beforeEach(() => {
  room = new KeyRoom();
});
afterEach(() => room.remove());

describe("new keys", () => {
  it("are for their owner alone, and sign tokens that pass [L3-PRM-1]", async () => {
    const { kid, kept, dropped } = await room.init();
    expect([kept, dropped]).toEqual([[], []]);
    expect(statSync(room.folder).mode & 0o777).toBe(0o700);
    expect(readdirSync(room.folder).toSorted()).toEqual([
      "current",
      "grants.key",
      "jwks.json",
      "lock.db",
      `signing-${kid}.pem`,
    ]);
    for (const name of readdirSync(room.folder)) expect(room.modeOf(name), name).toBe(0o600);
    const keys = room.load();
    expect(keys.current.kid).toBe(kid);
    expect(keys.grantsKey).toHaveLength(32);
    expect(passes(tokenBy(keys.current), keys.public)).toBe(true);
  });

  it("publish nothing secret", async () => {
    await room.init();
    const text = readFileSync(room.file("jwks.json"), "utf8");
    expect(Object.keys(JSON.parse(text).keys[0]).toSorted()).toEqual([
      "alg",
      "created",
      "e",
      "kid",
      "kty",
      "n",
      "use",
    ]);
  });

  it("never replace keys that are there", async () => {
    await room.init();
    const before = readFileSync(room.file("jwks.json"));
    expect(await initKeys(room.folder)).toMatchObject({
      code: "E3227",
      advice: expect.stringContaining("rotate"),
    });
    expect(readFileSync(room.file("jwks.json"))).toEqual(before);
  });

  it("speak for the server and nobody else", async () => {
    await room.init();
    expect(room.load().public.keys).toMatchObject([{ issuers: ["sallyport", APPROVAL_ISSUER] }]);
  });
});

describe("rotation [L3-PRM-1]", () => {
  it("keeps earlier tokens good until their key is dropped, and no old secret", async () => {
    const first = await room.init();
    const old = tokenBy(room.load().current);
    const second = await room.rotate(1);
    expect(second).toMatchObject({ previous: first.kid, kept: [first.kid], dropped: [] });
    expect(passes(old, room.load().public)).toBe(true);
    expect(passes(tokenBy(room.load().current), room.load().public)).toBe(true);
    expect(existsSync(room.file(`signing-${first.kid}.pem`))).toBe(false);
    const third = await room.rotate(1);
    expect(third).toMatchObject({ kept: [second.kid], dropped: [first.kid] });
    expect(passes(old, room.load().public)).toBe(false);
  });

  it("can drop everything before it at once", async () => {
    const { kid } = await room.init();
    const leaked = tokenBy(room.load().current);
    expect(await room.rotate(0)).toMatchObject({ kept: [], dropped: [kid] });
    expect(passes(leaked, room.load().public)).toBe(false);
    expect(room.load().public.kids).toHaveLength(1);
  });

  it("leaves the key for grants alone", async () => {
    await room.init();
    const { grantsKey } = room.load();
    await room.rotate();
    expect(room.load().grantsKey).toEqual(grantsKey);
  });

  it("needs keys to rotate, and a list it can read", async () => {
    expect(await rotateKeys(room.folder)).toMatchObject({ code: "E3227" });
    await room.init();
    writeFileSync(room.file("jwks.json"), "{");
    expect(await rotateKeys(room.folder)).toMatchObject({
      code: "E3227",
      message: expect.stringContaining("jwks.json"),
    });
  });

  it("is made by one process at a time", async () => {
    await room.init();
    const changes = await Promise.all([1, 2, 3].map(() => rotateKeys(room.folder)));
    const refused = changes.filter((change) => isFailure(change));
    expect(refused).toHaveLength(2);
    for (const { code, message } of refused)
      expect([code, message]).toEqual(["E3227", expect.stringContaining("Another process")]);
    await room.rotate();
  });

  it("is never made by two of many processes at once, also after one was killed at it", async () => {
    await room.init();
    const log = join(room.root, "log");
    writeFileSync(log, "");
    const takers = Array.from({ length: 4 }, () => spawn(process.execPath, [LOCK_TAKER, room.folder, log]));
    const entered = () => readFileSync(log, "utf8").trimEnd().split("\n");
    await vi.waitFor(() => expect(entered().length).toBeGreaterThan(20), { timeout: 40_000 });
    const [killed, ...others] = takers;
    killed?.kill("SIGKILL");
    await Promise.all(others.map((taker) => once(taker, "close")));
    expect(others.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    let inside: string | undefined;
    for (const line of entered()) {
      const [word, pid] = line.split(" ");
      // Only the killed one may have gone without a word.
      if (inside !== undefined && inside !== String(killed?.pid))
        expect([word, pid]).toEqual(["out", inside]);
      inside = word === "in" ? pid : undefined;
    }
  });
});

describe("a crash while keys are changed", () => {
  const names = () => readdirSync(room.folder);

  it("leaves the old key or the new one, and the next rotation clears up", async () => {
    const { kid } = await room.init();
    const before = join(room.root, "before");
    cpSync(room.folder, before, { recursive: true });
    const old = tokenBy(room.load().current);
    const made = await room.rotate();
    const after = join(room.root, "after");
    cpSync(room.folder, after, { recursive: true });
    const copy = (name: string) => cpSync(join(after, name), room.file(name));
    const steps = [
      () => writeFileSync(room.file("jwks.json.new"), '{"keys":[', { mode: 0o600 }),
      () => copy(`signing-${made.kid}.pem`),
      () => copy("jwks.json"),
      () => copy("current"),
    ];
    rmSync(room.folder, { recursive: true });
    cpSync(before, room.folder, { recursive: true });
    chmodSync(room.folder, 0o700);
    for (const [index, step] of steps.entries()) {
      step();
      expect(room.load().current.kid).toBe(index < 3 ? kid : made.kid);
      expect(passes(old, room.load().public)).toBe(true);
      expect(passes(tokenBy(room.load().current), room.load().public)).toBe(true);
    }
    const last = await room.rotate();
    expect(names().toSorted()).toEqual([
      "current",
      "grants.key",
      "jwks.json",
      "lock.db",
      `signing-${last.kid}.pem`,
    ]);
  });

  it("before the first key signs lets init be repeated", async () => {
    await room.init();
    rmSync(room.file("current"));
    expect(loadKeys(room.folder)).toMatchObject({ code: "E3227" });
    const { kid, kept } = await room.init();
    expect(kept).toHaveLength(1);
    expect(room.load().current.kid).toBe(kid);
  });

  it("that left the signing key off the list does not make it useless", async () => {
    const { kid } = await room.init();
    writeFileSync(room.file("jwks.json"), '{"keys":[]}');
    expect(room.load().public.kids).toEqual([kid]);
  });
});
