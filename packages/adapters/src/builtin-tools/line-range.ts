/** Lines of a file, counted from 1, both ends included. */
export interface LineRange {
  start: number;
  /** Left out: to the end of the file. */
  end?: number;
}

export type RangeFound = { ok: true; lines: Buffer } | { ok: false; scannedBytes: number };

const LINE_FEED = 0x0a;

/**
 * The bytes of the lines asked for, each with its own line end; fewer when the file ends before. Not ok when they are not
 * found within that many bytes from the file's beginning (FR-TOOL-READ-01a).
 */
export function linesOf(content: Buffer, { start, end }: LineRange, maxScanBytes: number): RangeFound {
  let from: number | undefined;
  let at = 0;
  for (let line = 1; at < content.length && (end === undefined || line <= end); line += 1) {
    if (line === start) from = at;
    const feed = content.indexOf(LINE_FEED, at);
    at = feed === -1 ? content.length : feed + 1;
    if (at > maxScanBytes) return { ok: false, scannedBytes: maxScanBytes };
  }
  return { ok: true, lines: content.subarray(from ?? at, at) };
}
