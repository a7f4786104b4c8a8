import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, realpath, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import {
  BLOB_NAME,
  BLOBS_ON_PAGE,
  type BlobEntry,
  type BlobSource,
  type Blobs,
  byCodePoint,
  requireBlobFolder,
  requireBlobName,
} from "@sallyport/engine/ports";
import { SallyportError } from "@sallyport/protocol";
import { blobFailure, boundedPieces } from "./body.ts";

export interface FolderBlobsOptions {
  /** Absolute. It is created by the first `put`, readable only by its owner. */
  folder: string;
  /** Largest blob; left out: 5 GiB, as everywhere. */
  maxBytes?: number;
}

/** Where bodies are written before they get their names. No name of a blob begins with a dot. */
const UNFINISHED = ".unfinished";
/** What a process was writing when it was killed is removed after so long. */
const UNFINISHED_MS = 86_400_000;
/** A folder can be removed, because it is empty, just before a blob is moved into it. */
const MOST_MOVES = 20;

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/**
 * Keeps each blob in a file of its own below a folder, under its name. A body is written and synced elsewhere in the
 * folder, then renamed. Links are never followed: a name below one rejects, and a list passes over it.
 */
export function openFolderBlobs({ folder: root, maxBytes }: FolderBlobsOptions): Blobs {
  let swept: Promise<void> | undefined;

  const write = async (source: BlobSource): Promise<string> => {
    await makeFolder(join(root, UNFINISHED));
    swept ??= removeUnfinished(root);
    await swept;
    const path = join(root, UNFINISHED, `${randomUUID()}.new`);
    try {
      const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      await pipeline(boundedPieces(source, maxBytes), file.createWriteStream({ flush: true }));
      return path;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  };

  return {
    async put(name, source) {
      requireBlobName(name);
      await reporting(root, async () => {
        const path = await write(source);
        try {
          await moveTo(root, name, path);
        } catch (error) {
          await rm(path, { force: true });
          throw error;
        }
      });
    },
    async get(name) {
      requireBlobName(name);
      return await reporting(root, () => readable(root, name));
    },
    async list(folder, { next = "", limit = BLOBS_ON_PAGE } = {}) {
      requireBlobFolder(folder);
      return await reporting(root, async () => {
        const blobs: BlobEntry[] = [];
        const inFolder = (await isOwnFolder(root, folder)) ? walk(root, folder, next) : [];
        for await (const entry of inFolder) {
          // One more than asked for shows that there is a next page.
          if (blobs.length === limit) return { blobs, next: blobs.at(-1)?.name ?? "" };
          blobs.push(entry);
        }
        return { blobs };
      });
    },
    async delete(name) {
      requireBlobName(name);
      await reporting(root, async () => {
        if (!(await isOwnFolder(root, folderOf(name)))) return;
        await rm(join(root, name), { force: true });
        await removeEmpty(root, folderOf(name));
      });
    },
  };
}

function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf("/") + 1);
}

async function moveTo(root: string, name: string, path: string): Promise<void> {
  const target = join(root, name);
  for (let moves = 1; ; moves += 1) {
    await makeFolder(dirname(target));
    await isOwnFolder(root, folderOf(name));
    try {
      await rename(path, target);
      return await syncFolder(dirname(target));
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || moves === MOST_MOVES) throw error;
    }
  }
}

async function readable(root: string, name: string): Promise<ReadableStream<Uint8Array> | undefined> {
  if (!(await isOwnFolder(root, folderOf(name)))) return undefined;
  // A pipe must not make the opening wait.
  const file = await open(join(root, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(orMissing);
  if (!file) return undefined;
  if ((await file.stat()).isFile()) return Readable.toWeb(file.createReadStream());
  await file.close();
  throw blobFailure(`${name} in ${root} is no file.`);
}

/** The blobs of a folder and below in the order of their names, after one. */
async function* walk(root: string, folder: string, after: string): AsyncGenerator<BlobEntry> {
  const entries = (await readdir(join(root, folder), { withFileTypes: true }).catch(orMissing)) ?? [];
  const paths = entries.flatMap((entry) => {
    if (entry.isDirectory()) return entry.name === UNFINISHED ? [] : [`${folder}${entry.name}/`];
    return entry.isFile() && BLOB_NAME.test(folder + entry.name) ? [folder + entry.name] : [];
  });
  for (const path of paths.toSorted(byCodePoint)) {
    if (path <= after && !after.startsWith(path)) continue;
    if (path.endsWith("/")) {
      yield* walk(root, path, after);
      continue;
    }
    const found = path === after ? undefined : await lstat(join(root, path)).catch(orMissing);
    if (found?.isFile()) yield { name: path, bytes: found.size, changedAt: found.mtimeMs };
  }
}

/** Whether a folder is there. Rejects when a link leads to it: what is there is not ours. */
async function isOwnFolder(root: string, folder: string): Promise<boolean> {
  const real = await realpath(join(root, folder)).catch(orMissing);
  if (real === undefined) return false;
  if (real === join(await realpath(root), folder).replace(/\/$/, "")) return true;
  throw blobFailure(`A link stands in the place of ${folder} in ${root}.`, "Remove the link.");
}

/** Makes a folder that is still there after a power cut. */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, O_RDONLY).catch(orMissing);
  try {
    await folder?.sync();
  } finally {
    await folder?.close();
  }
}

async function removeUnfinished(root: string): Promise<void> {
  const folder = join(root, UNFINISHED);
  for (const name of await readdir(folder)) {
    const found = await lstat(join(folder, name)).catch(orMissing);
    if (found && found.mtimeMs < Date.now() - UNFINISHED_MS) await rm(join(folder, name), { force: true });
  }
}

/** A folder that still has something in it stays. */
async function removeEmpty(root: string, folder: string): Promise<void> {
  for (let empty = folder; empty !== ""; empty = folderOf(empty.slice(0, -1))) {
    const isRemoved = await rmdir(join(root, empty)).then(
      () => true,
      () => false,
    );
    if (!isRemoved) return;
  }
}

/** Errors of the file system become E3949; others, such as those of a source, stay what they are. */
async function reporting<Result>(root: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SallyportError || codeOf(error) === undefined) throw error;
    throw blobFailure(`The folder of blobs ${root} cannot be used: ${codeOf(error)}.`);
  }
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || !("syscall" in error)) return undefined;
  return String(error.code);
}

function orMissing(error: unknown): undefined {
  const code = codeOf(error);
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  throw error;
}
