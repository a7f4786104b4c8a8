import type { ListedEntry, Walked } from "./walk-folder.ts";

/** What a listing says besides its entries. */
export interface ListingFrame {
  /** The folder as it was asked for, tidied. */
  path: string;
  maxEntries: number;
}

type Reason = "max_entries" | "max_output_bytes" | null;

/**
 * A listing as one JSON object within that many bytes, without spare white space and with its keys always in the same
 * order. Entries that do not fit are left out from the end; undefined when it does not fit without any.
 */
export function listingText(
  { entries, isCut }: Walked,
  frame: ListingFrame,
  maxBytes: number,
): string | undefined {
  const sorted = entries.toSorted(byPath);
  const whole = textOf(sorted, frame, isCut ? "max_entries" : null);
  if (Buffer.byteLength(whole) <= maxBytes) return whole;
  const shorter = (count: number) => textOf(sorted.slice(0, count), frame, "max_output_bytes");
  let [fits, tooMany] = [-1, sorted.length];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (Buffer.byteLength(shorter(middle)) <= maxBytes) fits = middle;
    else tooMany = middle;
  }
  return fits === -1 ? undefined : shorter(fits);
}

function textOf(entries: readonly ListedEntry[], { path, maxEntries }: ListingFrame, reason: Reason): string {
  return JSON.stringify({
    path,
    entries: entries.map(inOrder),
    returned: entries.length,
    max_entries: maxEntries,
    truncated: reason !== null,
    truncated_reason: reason,
  });
}

function inOrder(entry: ListedEntry): ListedEntry {
  const { name, path, depth, type, size_bytes, modified_epoch_ms, is_hidden, error_code, error } = entry;
  return { name, path, depth, type, size_bytes, modified_epoch_ms, is_hidden, error_code, error };
}

function byPath(left: ListedEntry, right: ListedEntry): number {
  return left.path < right.path ? -1 : left.path > right.path ? 1 : 0;
}

/** A path as a listing names it: trimmed, without `./`, doubled or trailing slashes. */
export function tidyPath(asked: string, platform: NodeJS.Platform = process.platform): string {
  const trimmed = asked.trim();
  const slashed = platform === "win32" ? trimmed.replaceAll("\\", "/") : trimmed;
  const parts = slashed.split("/").filter((part) => part !== "" && part !== ".");
  const tidy = (slashed.startsWith("/") ? "/" : "") + parts.join("/");
  return tidy === "" ? "." : tidy;
}
