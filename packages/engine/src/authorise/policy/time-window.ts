import type { DocumentNode } from "../../match/document.ts";

export const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
const MINUTES_A_DAY = 1_440;
const MINUTE_MS = 60_000;

/** Hours of some days by the clock of a zone. A window that passes midnight belongs to the day on which it begins. */
interface TimeWindow {
  /** Whether a time is inside; undefined for a number that is no time. */
  includes(at: number): boolean | undefined;
}

/** Reads `{from, to, days, zone}`. */
export function readTimeWindow(node: DocumentNode): TimeWindow | undefined {
  if (!node.keys(["from", "to", "days", "zone"])) return undefined;
  const from = node.optional("from", readMinute, 0);
  const to = node.optional("to", readMinute, MINUTES_A_DAY);
  const days = new Set<number>(
    node.optional("days", (list) => list.words(WEEKDAYS), WEEKDAYS).map((day) => WEEKDAYS.indexOf(day)),
  );
  const format = node.optional("zone", readZone, clockOf("UTC"));
  if (from === undefined || to === undefined || format === undefined) return undefined;
  if (from === to) return node.wrong("begins and ends at the same time");
  const clock = wallClock(format);
  const isInside = ({ day, minute }: WallTime) => {
    if (from < to) return days.has(day) && minute >= from && minute < to;
    return (days.has(day) && minute >= from) || (days.has((day + 6) % 7) && minute < to);
  };
  return { includes: (at) => (isTime(at) ? isInside(clock(at)) : undefined) };
}

/** Minutes after midnight. */
function readMinute(node: DocumentNode): number | undefined {
  const read = /^([01]\d|2[0-4]):([0-5]\d)$/.exec(String(node.value));
  const minute = read ? Number(read[1]) * 60 + Number(read[2]) : Number.NaN;
  return minute <= MINUTES_A_DAY ? minute : node.wrong("must be a time of day", 'such as "22:00"');
}

function readZone(node: DocumentNode): Intl.DateTimeFormat | undefined {
  const zone = node.text();
  if (zone === undefined) return undefined;
  try {
    return clockOf(zone);
  } catch {
    return node.wrong("is not a time zone", "such as UTC or Europe/Berlin");
  }
}

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const digits = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  return new Intl.DateTimeFormat("en-US", { timeZone, weekday: "short", ...digits });
}

interface WallTime {
  day: number;
  minute: number;
}

/** Formatting a time costs more than the rest of a decision; the result is kept for its minute. */
function wallClock(format: Intl.DateTimeFormat): (at: number) => WallTime {
  let last = { minuteOfTime: Number.NaN, wall: { day: 0, minute: 0 } };
  return (at) => {
    const minuteOfTime = Math.floor(at / MINUTE_MS);
    if (minuteOfTime !== last.minuteOfTime) last = { minuteOfTime, wall: readWall(format, at) };
    return last.wall;
  };
}

function readWall(format: Intl.DateTimeFormat, at: number): WallTime {
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const names: readonly (string | undefined)[] = WEEKDAYS;
  const day = names.indexOf(parts.get("weekday")?.toLowerCase());
  return { day, minute: Number(parts.get("hour")) * 60 + Number(parts.get("minute")) };
}

export function isTime(at: number): boolean {
  return !Number.isNaN(new Date(at).getTime());
}
