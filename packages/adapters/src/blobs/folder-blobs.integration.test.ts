import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { blobsContract } from "@sallyport/engine/testing";
import { expect, it } from "vitest";
import { type FolderBlobsOptions, openFolderBlobs } from "./index.ts";

async function openRoom(options: Partial<FolderBlobsOptions> = {}) {
  const parent = await mkdtemp(join(tmpdir(), "sallyport-blobs-"));
  const folder = join(parent, "blobs");
  return {
    parent,
    folder,
    blobs: openFolderBlobs({ folder, ...options }),
    [Symbol.asyncDispose]: () => rm(parent, { recursive: true }),
  };
}

const X = new TextEncoder().encode("x");

blobsContract("a folder", openRoom);

it("lets nobody but the owner read files and folders, and leaves nothing beside them", async () => {
  await using at = await openRoom();
  await at.blobs.put("a/b/c.txt", X);
  for (const path of [at.folder, join(at.folder, "a"), join(at.folder, "a/b"), join(at.folder, "a/b/c.txt")])
    expect((await lstat(path)).mode & 0o077, path).toBe(0);
  expect(await readdir(join(at.folder, ".unfinished"))).toEqual([]);
  await at.blobs.delete("a/b/c.txt");
  expect(await readdir(at.folder)).toEqual([".unfinished"]);
});

it("follows no link, whatever it is asked for", async () => {
  await using at = await openRoom();
  await at.blobs.put("a/b.txt", X);
  const outside = join(at.parent, "outside");
  await mkdir(outside);
  await writeFile(join(outside, "secret.txt"), "precious");
  await symlink(outside, join(at.folder, "link"));
  await symlink(join(outside, "secret.txt"), join(at.folder, "a/file.txt"));
  const refused = { failure: { code: "E3949" } };
  await expect(at.blobs.get("link/secret.txt")).rejects.toMatchObject(refused);
  await expect(at.blobs.put("link/new.txt", X)).rejects.toMatchObject(refused);
  await expect(at.blobs.delete("link/secret.txt")).rejects.toMatchObject(refused);
  await expect(at.blobs.list("link/")).rejects.toMatchObject(refused);
  await expect(at.blobs.get("a/file.txt")).rejects.toMatchObject(refused);
  expect((await at.blobs.list("")).blobs.map(({ name }) => name)).toEqual(["a/b.txt"]);
  // A link in the place of a blob is replaced and removed, not what it leads to.
  await at.blobs.put("a/file.txt", X);
  await at.blobs.delete("a/file.txt");
  expect(await readdir(outside)).toEqual(["secret.txt"]);
  expect(await readFile(join(outside, "secret.txt"), "utf8")).toBe("precious");
});

it("refuses a body that is too large, and keeps what was there", async () => {
  await using at = await openRoom({ maxBytes: 10 });
  await at.blobs.put("a.txt", X);
  await expect(at.blobs.put("a.txt", new Uint8Array(11))).rejects.toMatchObject({
    failure: { code: "E3949" },
  });
  const kept = await at.blobs.get("a.txt");
  expect(kept && (await buffer(kept)).toString()).toBe("x");
});

it("says why a folder cannot be used, and removes what a killed process left a day ago", async () => {
  await using at = await openRoom();
  await mkdir(join(at.folder, ".unfinished"), { recursive: true });
  const [old, fresh] = ["old.new", "fresh.new"].map((name) => join(at.folder, ".unfinished", name)) as [
    string,
    string,
  ];
  for (const path of [old, fresh]) await writeFile(path, "half");
  await utimes(old, 0, 0);
  await at.blobs.put("a.txt", X);
  expect(await readdir(join(at.folder, ".unfinished"))).toEqual(["fresh.new"]);
  const file = openFolderBlobs({ folder: join(at.folder, "a.txt") });
  await expect(file.put("b.txt", X)).rejects.toMatchObject({
    failure: { code: "E3949", message: expect.stringContaining("ENOTDIR") },
  });
});

it("survives puts and removals of neighbours at once, which make and remove their folder", async () => {
  await using at = await openRoom();
  const rounds = Array.from({ length: 60 }, async (_, n) => {
    const name = `a/b/c${n % 4}.txt`;
    await at.blobs.put(name, X);
    await at.blobs.delete(name);
  });
  await Promise.all(rounds);
  expect(await at.blobs.list("")).toEqual({ blobs: [] });
});
