import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { lost } from "./failures.ts";

/** Of the write-ahead log's head, and of each frame's; a frame's begins with the number of its page. */
const LOG_HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 24;

/**
 * Throws E3914 for a database whose end is cut off. SQLite itself sees that only without a write-ahead log: with one it
 * trusts the log's count of pages, and goes on until somebody needs a page that is in neither file.
 */
export function requireWhole(database: DatabaseSync, path: string): void {
  const pageBytes = pragma(database, "page_size");
  const pages = pragma(database, "page_count");
  const inFile = Math.floor(statSync(path).size / pageBytes);
  if (inFile >= pages) return;
  const inLog = pagesInLog(`${path}-wal`, pageBytes);
  for (let page = inFile + 1; page <= pages; page += 1) {
    if (inLog.has(page)) continue;
    throw lost(`The database is cut off: it has ${pages} pages, and page ${page} is missing.`, {
      advice: "The database is damaged: keep the folder for inspection and restore a backup.",
    });
  }
}

function pragma(database: DatabaseSync, name: "page_size" | "page_count"): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

function pagesInLog(path: string, pageBytes: number): Set<number> {
  const pages = new Set<number>();
  if (!existsSync(path)) return pages;
  const log = openSync(path, "r");
  try {
    const number = Buffer.alloc(4);
    let at = LOG_HEAD_BYTES;
    for (; readSync(log, number, 0, 4, at) === 4; at += FRAME_HEAD_BYTES + pageBytes)
      pages.add(number.readUInt32BE());
    return pages;
  } finally {
    closeSync(log);
  }
}
