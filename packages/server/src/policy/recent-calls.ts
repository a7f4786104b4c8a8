import type { CallReader, CallRecord } from "@sallyport/engine/ports";

const PAGE = 1_000;
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time in words a person writes: an ISO time, or how long ago (`30m`, `24h`, `7d`). Undefined when it is neither. */
export function readMoment(text: string, now: number): number | undefined {
  const ago = /^(\d{1,6})([mhd])$/.exec(text);
  if (ago) return now - Number(ago[1]) * (UNITS[ago[2] ?? ""] ?? 0);
  const at = /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** The newest calls, newest first: at most `limit`, none older than `since`. */
export async function recentCalls(
  calls: CallReader,
  { limit, since = Number.NEGATIVE_INFINITY }: { limit: number; since?: number },
): Promise<CallRecord[]> {
  const found: CallRecord[] = [];
  for (;;) {
    const last = found.at(-1);
    const page = await calls.list({
      limit: Math.min(PAGE, limit - found.length),
      ...(last && { before: { at: last.startedAt, id: last.callId } }),
    });
    const wanted = page.filter(({ startedAt }) => startedAt >= since);
    found.push(...wanted);
    const done = wanted.length < page.length || page.length < PAGE || found.length >= limit;
    if (done) return found;
  }
}
