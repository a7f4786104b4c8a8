import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createDiskCache } from "./disk-cache.ts";
import { tool } from "./fixtures/fake-gateway.ts";

const KEY = { gateway: "http://gateway", domain_id: "d", version: "1" };
const CATALOGUE = { domain_id: "d", version: "1", tools: [tool("a.b")] };

let top = "";
let folder = "";
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "sallyport-catalogues-"));
  folder = join(top, "sallyport", "catalogues");
});
afterEach(() => rmSync(top, { recursive: true }));

const files = () => readdirSync(folder).map((name) => join(folder, name));
const onlyFile = () => files()[0] ?? "";

it("keeps a catalogue for others of the same user only, under its key", async () => {
  await createDiskCache({ folder }).set(KEY, CATALOGUE);
  const cache = createDiskCache({ folder });
  expect(await cache.get(KEY)).toEqual(CATALOGUE);
  for (const other of [{ gateway: "http://other" }, { domain_id: "e" }, { version: "2" }]) {
    expect(await cache.get({ ...KEY, ...other })).toBeUndefined();
  }
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(files().map((file) => statSync(file).mode & 0o777)).toEqual([0o600]);
});

it("gives nothing for a file that is cut, too large, a link or a folder, and repairs it", async () => {
  const cache = createDiskCache({ folder, maxFileBytes: 10_000 });
  expect(await cache.get(KEY)).toBeUndefined();
  await cache.set(KEY, CATALOGUE);
  const file = onlyFile();
  const damage = [
    () => truncateSync(file, 20),
    () => writeFileSync(file, `${" ".repeat(20_000)}{}`),
    () => {
      rmSync(file);
      writeFileSync(join(top, "secret"), "{}");
      symlinkSync(join(top, "secret"), file);
    },
  ];
  for (const harm of damage) {
    harm();
    expect(await cache.get(KEY)).toBeUndefined();
    await cache.set(KEY, CATALOGUE);
    expect(await cache.get(KEY)).toEqual(CATALOGUE);
  }
  rmSync(file);
  mkdirSync(file);
  expect(await cache.get(KEY)).toBeUndefined();
  await expect(cache.set(KEY, CATALOGUE)).rejects.toThrow();
  expect(files()).toEqual([file]);
});

it("keeps the newest files, and no catalogue that is too large", async () => {
  const cache = createDiskCache({ folder, maxFiles: 2, maxFileBytes: 10_000 });
  await cache.set(KEY, CATALOGUE);
  const [oldest] = files();
  utimesSync(oldest ?? "", 1, 1);
  writeFileSync(join(folder, "notes.txt"), "not ours");
  writeFileSync(`${oldest}.0190a6d2-1111-7222-8333-0123456789ab.part`, "left by a crash");
  utimesSync(`${oldest}.0190a6d2-1111-7222-8333-0123456789ab.part`, 2, 2);
  for (const version of ["2", "3"]) await cache.set({ ...KEY, version }, { ...CATALOGUE, version });
  expect(readdirSync(folder)).toHaveLength(3);
  expect(await cache.get(KEY)).toBeUndefined();
  expect(await cache.get({ ...KEY, version: "3" })).toMatchObject({ version: "3" });
  await cache.set(KEY, { ...CATALOGUE, tools: [tool("a", { description: "x".repeat(10_000) })] });
  expect(await cache.get(KEY)).toBeUndefined();
});

it("is never seen half written by others", async () => {
  const caches = [createDiskCache({ folder }), createDiskCache({ folder })];
  await caches[0]?.set(KEY, CATALOGUE);
  const writes = Array.from({ length: 40 }, (_, index) => caches[index % 2]?.set(KEY, CATALOGUE));
  const reads = Array.from({ length: 40 }, () => createDiskCache({ folder }).get(KEY));
  expect(await Promise.all(reads)).toEqual(reads.map(() => CATALOGUE));
  await Promise.all(writes);
  expect(files()).toHaveLength(1);
});

it("rejects where it may not write", async () => {
  writeFileSync(join(top, "sallyport"), "a file");
  await expect(createDiskCache({ folder }).set(KEY, CATALOGUE)).rejects.toThrow(/ENOTDIR|EEXIST/);
});
