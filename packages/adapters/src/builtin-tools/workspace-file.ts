import { createHash } from "node:crypto";
import type { FileAccess, FileEntry } from "@sallyport/engine/ports";
import type { Place } from "./place.ts";
import { executionFailed, fileProblem, limitExceeded } from "./problems.ts";

/** Files that can be looked at: a call's own, or the workspace as it is. */
export type ReadableFiles = Pick<FileAccess, "read" | "stat">;

/** Stands for the hash of a file in a conversation that found none. */
export const ABSENT = "absent";

/** What is at a place, links not followed; undefined when nothing is. */
export async function entryAt(
  files: ReadableFiles,
  { asked, relative }: Place,
): Promise<FileEntry | undefined> {
  try {
    return await files.stat(relative);
  } catch (error) {
    throw fileProblem(asked, error);
  }
}

/**
 * The whole content of a file of at most that many bytes. Looked at before and after: a link that took its place
 * meanwhile must not lead the reader elsewhere (FR-VAL-06).
 */
export async function contentAt(files: ReadableFiles, place: Place, maxBytes: number): Promise<Buffer> {
  checkFile(place, await entryAt(files, place), maxBytes);
  const content = await read(files, place);
  checkFile(place, await entryAt(files, place), maxBytes);
  return content;
}

function checkFile({ asked }: Place, entry: FileEntry | undefined, maxBytes: number): void {
  if (!entry) throw executionFailed(`${asked}: no such file or directory`);
  if (entry.type === "folder") throw executionFailed(`${asked}: is a directory`);
  if (entry.type !== "file") throw executionFailed(`${asked}: is not a regular file`);
  if (entry.bytes > maxBytes)
    throw limitExceeded(
      `${asked} has ${entry.bytes} bytes; files of more than ${maxBytes} bytes are not read`,
    );
}

async function read(files: ReadableFiles, { asked, relative }: Place): Promise<Buffer> {
  try {
    return await files.read(relative);
  } catch (error) {
    throw fileProblem(asked, error);
  }
}

/** Puts new content into a file, and makes the folders that lead to it. */
export async function putContent(
  files: FileAccess,
  { asked, relative }: Place,
  content: Buffer,
): Promise<void> {
  try {
    for (const folder of foldersTo(relative)) if (!(await files.stat(folder))) await files.makeFolder(folder);
    await files.write(relative, content);
  } catch (error) {
    throw fileProblem(asked, error);
  }
}

/** The folders on the way to a path, outermost first. */
export function foldersTo(relative: string): string[] {
  const parts = relative.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** SHA-256 in hex. */
export function hashOf(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
