import type { JsonObject, JsonValue } from "@sallyport/protocol";
import { pointTo } from "../../match/json-pointer.ts";
import type { Reading } from "../../match/reading.ts";
import { type Truth, UNSURE } from "../../match/truth.ts";
import type { PolicyRequest } from "../../ports/policy.ts";
import { COST, type Condition, type Place, verdict } from "./condition.ts";

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
const MINUTES_A_DAY = 1_440;
const MINUTE_MS = 60_000;

interface Window {
  /** Minutes after midnight; `to` is the first minute outside. */
  from: number;
  to: number;
  /** Numbers of the days on which it begins. */
  days: ReadonlySet<number>;
  zone: string;
}

/** `{from, to, days, zone}`: a window that passes midnight belongs to the day on which it begins. */
export function readTime(value: JsonValue, { path, within, reading }: Place): Condition[] {
  const given = reading.object(value, path, ["from", "to", "days", "zone"]);
  const window = given && readWindow(given, path, reading);
  if (!window) return [];
  const clock = wallClock(window.zone);
  const judge = ({ at }: PolicyRequest): Truth => {
    const now = clock(at);
    return now === undefined ? UNSURE : verdict(isInside(now, window));
  };
  return [{ path: within, cost: COST.time, judge, look: ({ at }) => timeText(at), timed: true }];
}

function readWindow(given: JsonObject, path: string, reading: Reading): Window | undefined {
  const from = given.from === undefined ? 0 : readMinute(given.from, pointTo(path, "from"), reading);
  const to = given.to === undefined ? MINUTES_A_DAY : readMinute(given.to, pointTo(path, "to"), reading);
  const days = given.days === undefined ? DAYS : readDays(given.days, pointTo(path, "days"), reading);
  const zone = given.zone === undefined ? "UTC" : readZone(given.zone, pointTo(path, "zone"), reading);
  if (from === undefined || to === undefined || zone === undefined) return undefined;
  if (from === to) return reading.wrong(path, "begins and ends at the same time");
  return { from, to, days: new Set(days.map((day) => DAYS.indexOf(day))), zone };
}

function readMinute(value: JsonValue, path: string, reading: Reading): number | undefined {
  const read = typeof value === "string" ? /^([01]\d|2[0-4]):([0-5]\d)$/.exec(value) : null;
  const minute = read ? Number(read[1]) * 60 + Number(read[2]) : MINUTES_A_DAY + 1;
  return minute <= MINUTES_A_DAY ? minute : reading.wrong(path, "must be a time of day", 'such as "22:00"');
}

function readDays(value: JsonValue, path: string, reading: Reading): (typeof DAYS)[number][] {
  return reading.list(value, path, (item, at) => reading.word(item, at, DAYS));
}

function readZone(value: JsonValue, path: string, reading: Reading): string | undefined {
  const zone = reading.text(value, path);
  if (zone === undefined) return undefined;
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return zone;
  } catch {
    return reading.wrong(path, "is not a time zone", "such as UTC or Europe/Berlin");
  }
}

interface WallTime {
  day: number;
  minute: number;
}

/** Asking the calendar costs more than the rest of a decision, and its answer holds for a minute. */
function wallClock(zone: string): (at: number) => WallTime | undefined {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  let last = { minuteOfTime: Number.NaN, wall: { day: 0, minute: 0 } };
  return (at) => {
    if (!isTime(at)) return undefined;
    const minuteOfTime = Math.floor(at / MINUTE_MS);
    if (minuteOfTime !== last.minuteOfTime) last = { minuteOfTime, wall: readWall(format, at) };
    return last.wall;
  };
}

function readWall(format: Intl.DateTimeFormat, at: number): WallTime {
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const names: readonly (string | undefined)[] = DAYS;
  const day = names.indexOf(parts.get("weekday")?.toLowerCase());
  return { day, minute: Number(parts.get("hour")) * 60 + Number(parts.get("minute")) };
}

function isInside({ day, minute }: WallTime, { from, to, days }: Window): boolean {
  if (from < to) return days.has(day) && minute >= from && minute < to;
  return (days.has(day) && minute >= from) || (days.has((day + 6) % 7) && minute < to);
}

function timeText(at: number): string {
  return isTime(at) ? new Date(at).toISOString() : String(at);
}

function isTime(at: number): boolean {
  return !Number.isNaN(new Date(at).getTime());
}
