import { arrayBuffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import type { BlobEntry, Blobs } from "../ports/index.ts";

/** An empty place for blobs. */
export interface OpenBlobs extends AsyncDisposable {
  blobs: Blobs;
}

const MIB = 2 ** 20;
/** It repeats with a period that no buffer has. */
const HUGE = Buffer.alloc(
  20 * MIB + 17,
  Uint8Array.from({ length: 65_537 }, (_, at) => (at * 31) >> 3),
);

/** Names that are none: they lead elsewhere, or mean different things to different servers. */
const WRONG_NAMES = [
  ...["", "/", "a", "a/", "/a.txt", "a//b.txt", "a.txt/", "../a.txt", "a/../b.txt", "./a.txt", "a/./b.txt"],
  ...["..", "a..txt", "a.b/c.txt", ".a.txt", "a/.b.txt", "-a.txt", "A.txt", "a.TXT", "a b.txt", "a%2fb.txt"],
  ...["a\\b.txt", "a\u0000.txt", "a\n.txt", "a.txt\n", "é.txt", "a?.txt", "a#.txt", "c:a.txt", "~a.txt"],
  ...[`${"a".repeat(129)}.txt`, `${"a/".repeat(8)}b.txt`, `${`${"a".repeat(120)}/`.repeat(5)}a.txt`],
];

/** Every place for blobs keeps bodies whole under safe names, lists them in order, and shows nothing half written. */
export function blobsContract(name: string, open: () => Promise<OpenBlobs>): void {
  describe(`${name} keeps the contract of blobs`, () => {
    it.each([
      ["nothing", new Uint8Array()],
      ["every byte", Uint8Array.from({ length: 256 }, (_, at) => at)],
    ])("gives back %s, also under a name that had another body", async (_, body) => {
      await using at = await open();
      await at.blobs.put("a/b.bin", textBytes("what was there before, and is longer".repeat(9)));
      await at.blobs.put("a/b.bin", body, { contentType: "application/octet-stream" });
      expect(await read(at.blobs, "a/b.bin")).toEqual(body);
    });

    it("takes a huge body piece by piece, and a stream of nothing", async () => {
      await using at = await open();
      await at.blobs.put("huge.ndjson.gz", pieces(HUGE));
      await at.blobs.put("empty.txt", pieces(new Uint8Array()));
      const kept = (await read(at.blobs, "huge.ndjson.gz")) ?? new Uint8Array();
      expect(kept.length).toBe(HUGE.length);
      expect(Buffer.compare(kept, HUGE)).toBe(0);
      expect(await read(at.blobs, "empty.txt")).toEqual(new Uint8Array());
      expect((await at.blobs.list("")).blobs.map(({ bytes }) => bytes)).toEqual([0, HUGE.length]);
    });

    it("knows nothing of a blob that was never put or is removed, and removes it twice", async () => {
      await using at = await open();
      expect(await at.blobs.get("a/b/c.txt")).toBeUndefined();
      await at.blobs.put("a/b/c.txt", textBytes("x"));
      expect(await at.blobs.get("a/b/d.txt")).toBeUndefined();
      expect(await at.blobs.get("a/b/c/d.txt")).toBeUndefined();
      for (let times = 0; times < 2; times += 1) await at.blobs.delete("a/b/c.txt");
      expect(await at.blobs.get("a/b/c.txt")).toBeUndefined();
      expect(await at.blobs.list("")).toEqual({ blobs: [] });
    });

    it("refuses names that are none, and writes nothing", async () => {
      await using at = await open();
      for (const wrong of WRONG_NAMES) {
        await expect(at.blobs.put(wrong, textBytes("x")), wrong).rejects.toThrow(TypeError);
        await expect(at.blobs.get(wrong), wrong).rejects.toThrow(TypeError);
        await expect(at.blobs.delete(wrong), wrong).rejects.toThrow(TypeError);
      }
      for (const wrong of ["a", "/", "../", "a//", "a/../", "A/", ".a/"])
        await expect(at.blobs.list(wrong), wrong).rejects.toThrow(TypeError);
      expect(await at.blobs.list("")).toEqual({ blobs: [] });
    });

    it("keeps what was there when a source fails halfway, and leaves nothing where nothing was", async () => {
      await using at = await open();
      await at.blobs.put("a.txt", textBytes("before"));
      for (const one of ["a.txt", "b.txt"])
        await expect(at.blobs.put(one, brokenSource())).rejects.toThrow("the source broke");
      expect(text(await read(at.blobs, "a.txt"))).toBe("before");
      expect((await at.blobs.list("")).blobs).toMatchObject([{ name: "a.txt", bytes: 6 }]);
    });

    it("keeps one of several bodies put at once under one name, and shows readers whole ones only", async () => {
      await using at = await open();
      const bodies = Array.from({ length: 8 }, (_, n) => new Uint8Array(MIB + n).fill(n));
      await at.blobs.put("a/b.bin", bodies[0] ?? new Uint8Array());
      const seen = await Promise.all([
        ...bodies.map((body) => at.blobs.put("a/b.bin", body).then(() => undefined)),
        ...bodies.map(() => read(at.blobs, "a/b.bin")),
      ]);
      const last = await read(at.blobs, "a/b.bin");
      for (const body of [...seen.filter((one) => one !== undefined), last]) {
        const n = body?.[0] ?? -1;
        expect(Buffer.compare(body ?? new Uint8Array(), bodies[n] ?? new Uint8Array()), `body ${n}`).toBe(0);
      }
      expect((await at.blobs.list("")).blobs).toMatchObject([{ name: "a/b.bin", bytes: last?.length }]);
    });

    it("lists each blob below a folder once and in the order of names, page by page", async () => {
      await using at = await open();
      const names = [
        "a-b/x.txt",
        "a.txt",
        "a/b/c.txt",
        "a/b.txt",
        "a/b-c.txt",
        "a/b=c/d.txt",
        "a0.txt",
        "b/a.gz",
      ];
      for (const one of names) await at.blobs.put(one, textBytes(one));
      for (const folder of ["", "a/", "a/b/", "c/"]) {
        const wanted = names.filter((one) => one.startsWith(folder)).toSorted();
        for (const limit of [1, 3, 100]) {
          const found = await everything(at.blobs, folder, limit);
          expect(
            found.map((one) => one.name),
            `${folder} by ${limit}`,
          ).toEqual(wanted);
        }
      }
      for (const { name: one, bytes, changedAt } of await everything(at.blobs, "", 100)) {
        expect(bytes).toBe(one.length);
        expect(Math.abs(changedAt - Date.now())).toBeLessThan(3_600_000);
      }
    });

    it("goes on listing while blobs are removed", async () => {
      await using at = await open();
      const names = Array.from({ length: 7 }, (_, n) => `a${n}/b.txt`);
      for (const one of names) await at.blobs.put(one, textBytes("x"));
      const gone: string[] = [];
      let next: string | undefined;
      do {
        const page = await at.blobs.list("", { limit: 2, ...(next !== undefined && { next }) });
        for (const { name: one } of page.blobs) await at.blobs.delete(one).then(() => gone.push(one));
        next = page.next;
      } while (next !== undefined);
      expect(gone).toEqual(names);
    });
  });
}

async function read(blobs: Blobs, name: string): Promise<Uint8Array | undefined> {
  const stream = await blobs.get(name);
  return stream && new Uint8Array(await arrayBuffer(stream));
}

async function everything(blobs: Blobs, folder: string, limit: number): Promise<BlobEntry[]> {
  const found: BlobEntry[] = [];
  let next: string | undefined;
  do {
    const page = await blobs.list(folder, { limit, ...(next !== undefined && { next }) });
    expect(page.blobs.length).toBeLessThanOrEqual(limit);
    found.push(...page.blobs);
    next = page.next;
  } while (next !== undefined);
  return found;
}

function textBytes(given: string): Uint8Array {
  return new TextEncoder().encode(given);
}

function text(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}

/** A body in pieces of uneven sizes. */
async function* pieces(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; ) {
    const end = at + 1 + ((at * 7) % (3 * MIB));
    yield body.subarray(at, end);
    at = end;
  }
}

async function* brokenSource(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(200_000);
  throw new Error("the source broke");
}
