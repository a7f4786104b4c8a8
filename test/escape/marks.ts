import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";

/** What can be seen of each entry below some folders; equal marks mean that nothing was done to them. */
export type Marks = Map<string, string>;

/** Looks at folders with everything in them, or at single files. */
export async function marksOf(paths: readonly string[]): Promise<Marks> {
  const marks: Marks = new Map();
  for (const path of paths) await mark(path, marks);
  return marks;
}

async function mark(path: string, marks: Marks): Promise<void> {
  const stats = await lstat(path, { bigint: true }).catch(() => undefined);
  if (stats === undefined) return;
  const { mode, uid, gid, nlink, size, mtimeNs } = stats;
  const content = stats.isFile() ? await hashOf(path) : stats.isSymbolicLink() ? await readlink(path) : "";
  marks.set(
    path,
    `mode ${mode.toString(8)} owner ${uid}:${gid} links ${nlink} size ${size} time ${mtimeNs} ${content}`,
  );
  if (!stats.isDirectory()) return;
  for (const name of await readdir(path)) await mark(join(path, name), marks);
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** What is different now, in words. */
export function differences(before: Marks, now: Marks): string[] {
  const gone = [...before.keys()].filter((path) => !now.has(path)).map((path) => `${path} is gone`);
  const changed = [...now].flatMap(([path, state]) => {
    const old = before.get(path);
    if (old === undefined) return [`${path} is new: ${state}`];
    return old === state ? [] : [`${path} was ${old} and is ${state}`];
  });
  return [...gone, ...changed];
}
