import { applyPatch, isLp1Problem, type Lp1Patch, type Lp1Problem, parsePatch } from "@sallyport/loop/lp1";
import { type Place, placeOf } from "./place.ts";
import { limitExceeded, patchFailed, staleFile } from "./problems.ts";
import type { ToolMeans } from "./tool-means.ts";
import { ABSENT, contentAt, entryAt, hashOf, type ReadableFiles } from "./workspace-file.ts";

/** One file that a patch changes. */
export interface PatchedPlace {
  /** `asked` is as the patch first writes it. */
  place: Place;
  before: Buffer | undefined;
  after: Buffer;
}

/** Whose reads count, and what the files are looked at with. */
export interface Patching {
  files: ReadableFiles;
  conversation: string;
  means: ToolMeans;
}

/**
 * What a patch makes of the files, all in memory. In this order: size, parse, every path, what is there and whether the
 * conversation knows it as it is, then the operations. The first fault ends it, and nothing has been written by then.
 */
export async function planPatch(text: string, patching: Patching): Promise<PatchedPlace[]> {
  const patch = readPatch(text, patching.means, ({ message }) => patchFailed("<patch>", message));
  const places = await placesOf(patch, patching.means);
  const contents = new Map<string, Buffer | undefined>();
  for (const place of places.values())
    if (!contents.has(place.path)) contents.set(place.path, await knownContent(place, patching));
  return applied(patch, places, contents);
}

/** Reads a patch that is not too long (FR-LIM-04). What a fault in it becomes is the caller's choice. */
export function readPatch(
  text: string,
  { limits }: ToolMeans,
  refuse: (problem: Lp1Problem) => Error,
): Lp1Patch {
  const bytes = Buffer.byteLength(text);
  if (bytes > limits.maxPatchBytes)
    throw limitExceeded(`The patch has ${bytes} bytes, and ${limits.maxPatchBytes} are allowed`);
  const patch = parsePatch(text);
  if (isLp1Problem(patch)) throw refuse(patch);
  return patch;
}

/** Every path of a patch, by how it is written; each is allowed. */
export async function placesOf({ sections }: Lp1Patch, means: ToolMeans): Promise<Map<string, Place>> {
  const places = new Map<string, Place>();
  for (const { path } of sections) if (!places.has(path)) places.set(path, await placeOf(path, means));
  return places;
}

/** The content the conversation last saw; undefined for a file that is not there. Throws E3952 for any other (FR-TOOL-PATCH-02). */
async function knownContent(
  place: Place,
  { files, conversation, means }: Patching,
): Promise<Buffer | undefined> {
  const entry = await entryAt(files, place);
  if (entry?.type === "folder") throw patchFailed(place.asked, "Path is a directory");
  const read = await means.reads.find(conversation, place.path);
  // A file that was read and is gone has changed: making it anew would leave only the patch's lines.
  if (!entry && read && read.sha256 !== ABSENT) throw staleFile(place.asked, "changed");
  if (!entry) return undefined;
  if (!read) throw staleFile(place.asked, "unread");
  const content = await contentAt(files, place, means.limits.maxFileBytes);
  if (hashOf(content) !== read.sha256) throw staleFile(place.asked, "changed");
  return content;
}

function applied(
  patch: Lp1Patch,
  places: ReadonlyMap<string, Place>,
  contents: ReadonlyMap<string, Buffer | undefined>,
): PatchedPlace[] {
  const keyOf = (path: string) => places.get(path)?.path ?? path;
  const outcome = applyPatch(patch, { keyOf, read: (key) => contents.get(key) });
  if (isLp1Problem(outcome)) throw patchFailed(outcome.path ?? "<patch>", outcome.message);
  return outcome.files.flatMap((file) => {
    const place = places.get(file.path);
    if (file.kind === "unchanged" || !place) return [];
    return [{ place, before: contents.get(file.key), after: file.content }];
  });
}
