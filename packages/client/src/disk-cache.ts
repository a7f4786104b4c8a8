import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "@sallyport/protocol";
import type { CatalogueCache, CatalogueKey } from "./search/catalogue.ts";

/*
 * Catalogues in files, for commands that end after each search; for Node only. A file is written beside its place and
 * renamed, so that a reader sees a whole one. A file that cannot be understood counts as none.
 */

export interface DiskCacheOptions {
  /** Made when it is not there, for its owner only. */
  folder: string;
  /** The oldest files beyond it are removed; 32 when left out. */
  maxFiles?: number;
  /** A larger catalogue is not kept; 4 MiB when left out. */
  maxFileBytes?: number;
}

const MAX_FILES = 32;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const OWN_FILE = /^[0-9a-f]{64}\.json(?:\.[0-9a-f-]{36}\.part)?$/;

/** Nothing is opened before the first use; `get` and `set` reject when the folder cannot be used. */
export function createDiskCache(options: DiskCacheOptions): CatalogueCache {
  const { folder, maxFiles = MAX_FILES, maxFileBytes = MAX_FILE_BYTES } = options;
  const fileOf = (key: CatalogueKey) => join(folder, `${sha256(keyText(key))}.json`);
  return {
    get: async (key) => {
      const text = await readBounded(fileOf(key), maxFileBytes);
      return text === undefined ? undefined : parseJson(text);
    },
    set: async (key, catalogue) => {
      const text = JSON.stringify(catalogue);
      if (Buffer.byteLength(text) > maxFileBytes) return;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeWhole(fileOf(key), text);
      await removeOldest(folder, maxFiles);
    },
  };
}

function keyText({ gateway, domain_id, version }: CatalogueKey): string {
  return JSON.stringify([gateway, domain_id, version]);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Neither a link nor a pipe is read. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

async function readBounded(file: string, maxBytes: number): Promise<string | undefined> {
  const handle = await open(file, READ).catch((error) => {
    if (error.code === "ENOENT" || error.code === "ELOOP") return undefined;
    throw error;
  });
  if (!handle) return undefined;
  try {
    const facts = await handle.stat();
    return facts.isFile() && facts.size <= maxBytes ? await handle.readFile("utf8") : undefined;
  } finally {
    await handle.close();
  }
}

async function writeWhole(file: string, text: string): Promise<void> {
  const part = `${file}.${randomUUID()}.part`;
  try {
    const handle = await open(part, "wx", 0o600);
    await handle.writeFile(text).finally(() => handle.close());
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** Parts that a crash left behind are old files too. Other processes may remove the same ones. */
async function removeOldest(folder: string, maxFiles: number): Promise<void> {
  const names = (await readdir(folder)).filter((name) => OWN_FILE.test(name));
  if (names.length <= maxFiles) return;
  const files = await Promise.all(
    names.map(async (name) => ({ name, at: await changedAt(join(folder, name)) })),
  );
  files.sort((one, other) => other.at - one.at);
  for (const { name } of files.slice(maxFiles)) await rm(join(folder, name), { force: true });
}

/** 0 when it is gone. */
async function changedAt(file: string): Promise<number> {
  const facts = await stat(file).catch((error) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  return facts?.mtimeMs ?? 0;
}
