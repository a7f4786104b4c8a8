import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSpill, openSpillKeeping, type SpillFolder, type SpillKeeping } from "./index.ts";
import { folderOf, outputNameOf } from "./spill-paths.ts";

let parent: string;
let folder: string;
let spill: SpillFolder;
let keeping: SpillKeeping;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "sallyport-spill-"));
  folder = join(parent, "output");
  spill = openSpill(folder);
  keeping = openSpillKeeping(folder);
});
afterEach(() => rm(parent, { recursive: true }));

const DAY_MS = 86_400_000;
const NOTHING = { files: 0, bytes: 0 };

/** Keeps so many bytes as output of a call, and makes them so many days old. */
async function kept(conversationId: string, callId: string, { bytes = 10, days = 0 } = {}) {
  const name = await spill.keep({ conversationId, callId, text: "x".repeat(bytes) });
  const at = (Date.now() - days * DAY_MS) / 1_000;
  await utimes(join(folderOf(folder, conversationId), name), at, at);
  await utimes(folderOf(folder, conversationId), at, at);
  return () => spill.read(conversationId, name);
}

describe("the output of a conversation", () => {
  it("is counted and removed whole, and nothing of another [FR-OUT-04]", async () => {
    const [a, b] = [await kept("one", "a"), await kept("one", "b", { bytes: 5 })];
    const other = await kept("two", "a");
    expect(await keeping.sizeOf("one")).toEqual({ files: 2, bytes: 15 });
    expect(await keeping.remove("one")).toEqual({ files: 2, bytes: 15 });
    expect([await a(), await b(), await other()]).toEqual([undefined, undefined, "x".repeat(10)]);
    expect(await keeping.remove("one")).toEqual(NOTHING);
    expect(await keeping.sizeOf("one")).toEqual(NOTHING);
    expect(await readdir(folder)).toHaveLength(1);
  });

  it("is none where nothing was ever kept [FR-OUT-04]", async () => {
    expect(await keeping.sizeOf("one")).toEqual(NOTHING);
    expect(await keeping.remove("one")).toEqual(NOTHING);
    expect(await keeping.removeOrphans({ conversationIds: [], before: Date.now() })).toEqual(NOTHING);
    expect(await keeping.shrink({ maxBytes: 0, spare: [] })).toEqual(NOTHING);
  });
});

describe("output that belongs to no conversation", () => {
  const before = () => Date.now() - DAY_MS;

  it("goes when it is old, and stays while it is new or its conversation is there [FR-OUT-04]", async () => {
    const [known, fresh] = [await kept("known", "a", { days: 9 }), await kept("fresh", "a")];
    const old = await kept("old", "a", { days: 2 });
    const gone = await keeping.removeOrphans({ conversationIds: ["known"], before: before() });
    expect(gone).toEqual({ files: 1, bytes: 10 });
    expect(await old()).toBeUndefined();
    expect([await known(), await fresh()]).toEqual(["x".repeat(10), "x".repeat(10)]);
    expect(await readdir(folder)).toHaveLength(2);
  });

  it("stays whole while any of it is new [FR-OUT-04]", async () => {
    const first = await kept("one", "a", { days: 9 });
    await spill.keep({ conversationId: "one", callId: "b", text: "y" });
    expect(await keeping.removeOrphans({ conversationIds: [], before: before() })).toEqual(NOTHING);
    expect(await first()).toBe("x".repeat(10));
  });

  it("includes an empty folder, and a file that was never finished, also of a conversation that is there", async () => {
    const known = await kept("known", "a", { days: 2 });
    const path = join(folderOf(folder, "known"), `${outputNameOf("b")}.new`);
    await writeFile(path, "half");
    const empty = folderOf(folder, "empty");
    await mkdir(empty);
    const old = (Date.now() - 2 * DAY_MS) / 1_000;
    for (const one of [path, empty]) await utimes(one, old, old);
    const gone = await keeping.removeOrphans({ conversationIds: ["known"], before: before() });
    expect(gone).toEqual({ files: 1, bytes: 4 });
    expect(await known()).toBe("x".repeat(10));
    expect(await readdir(folder)).toHaveLength(1);
    expect(await readdir(folderOf(folder, "known"))).toHaveLength(1);
  });

  it("is nothing this room did not name, and never what a link points to", async () => {
    await kept("one", "a");
    const outside = join(parent, "outside");
    await mkdir(outside);
    await writeFile(join(outside, "a".repeat(16)), "precious");
    await writeFile(join(folder, "notes.txt"), "mine");
    await symlink(outside, folderOf(folder, "link"));
    await keeping.removeOrphans({ conversationIds: [], before: Date.now() + DAY_MS });
    await keeping.shrink({ maxBytes: 0, spare: [] });
    expect(await readdir(outside)).toEqual(["a".repeat(16)]);
    expect(await readdir(folder)).toHaveLength(2);
    await keeping.remove("link");
    expect(await readdir(outside)).toEqual(["a".repeat(16)]);
  });

  it("is left for the next time when there is no time any more", async () => {
    for (const id of ["a", "b", "c"]) await kept(id, "a", { days: 2 });
    let left = 2;
    const goOn = () => left-- > 0;
    const gone = await keeping.removeOrphans({ conversationIds: [], before: before(), goOn });
    expect(gone).toEqual({ files: 2, bytes: 20 });
    expect(await readdir(folder)).toHaveLength(1);
  });
});

describe("too much output", () => {
  it("loses the oldest until it fits, and nothing of what is spared [FR-OUT-04]", async () => {
    const spared = await kept("spared", "a", { bytes: 100, days: 9 });
    const oldest = await kept("one", "a", { bytes: 50, days: 8 });
    const older = await kept("two", "a", { bytes: 50, days: 7 });
    const newest = await kept("one", "b", { bytes: 50, days: 1 });
    expect(await keeping.shrink({ maxBytes: 250, spare: ["spared"] })).toEqual(NOTHING);
    expect(await keeping.shrink({ maxBytes: 160, spare: ["spared"] })).toEqual({ files: 2, bytes: 100 });
    expect([await oldest(), await older()]).toEqual([undefined, undefined]);
    expect([await spared(), await newest()]).toEqual(["x".repeat(100), "x".repeat(50)]);
    expect(await readdir(folder)).toHaveLength(2);
    expect(await keeping.shrink({ maxBytes: 0, spare: ["spared"] })).toEqual({ files: 1, bytes: 50 });
    expect(await spared()).toBe("x".repeat(100));
  });
});
