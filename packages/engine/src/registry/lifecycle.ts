import { defined, type Failure, failure } from "@sallyport/protocol";
import { coerce, compare, major, minor, prerelease, satisfies } from "semver";
import type { Retirement, ToolLifecycle, ToolRecord } from "../ports/tools.ts";

const DAY_MS = 86_400_000;
/** How long a deprecated version warns before ranges avoid it (L3-REG-2). */
const DEFAULT_WARNING_DAYS = 90;
const MINOR_RELEASES_BEFORE_REMOVAL = 2;

/** Where a version stands at a moment. It only ever moves forward: active, deprecated, sunset, removed. */
export function lifecycleAt(retirement: Retirement, now: number): ToolLifecycle {
  if (reached(retirement.removedAt, now)) return "removed";
  if (reached(retirement.sunsetAt, now)) return "sunset";
  return reached(retirement.deprecatedAt, now) ? "deprecated" : "active";
}

/** The next moment after `now` at which `lifecycleAt` gives another answer; infinity when it never will. */
export function nextChange(retirement: Retirement, now: number): number {
  const dates = [retirement.deprecatedAt, retirement.sunsetAt, retirement.removedAt];
  return Math.min(...dates.filter((date) => date !== undefined && date > now).map(Number));
}

export interface DeprecateOptions {
  now: number;
  /** Days until ranges avoid the version; 90 when left out. */
  warningDays?: number;
  /** The version to move to. */
  replacement?: string;
  guidance?: string;
}

/**
 * The record with its dates set. Refused (E3013) without a replacement or guidance, because a warning that does
 * not say what to do helps nobody (R1-10), and for a version that was deprecated before: its dates stand.
 */
export function deprecateRecord(
  record: ToolRecord,
  newest: string,
  options: DeprecateOptions,
): ToolRecord | Failure {
  const { now, warningDays = DEFAULT_WARNING_DAYS, replacement, guidance } = options;
  const problem = deprecationProblem(record, options);
  if (problem !== undefined) return failure("E3013", { message: problem });
  const retirement: Retirement = {
    ...record.retirement,
    deprecatedAt: now,
    sunsetAt: now + warningDays * DAY_MS,
    newestAtDeprecation: newest,
    ...defined({ replacement, guidance }),
  };
  return { ...record, retirement };
}

function deprecationProblem(record: ToolRecord, options: DeprecateOptions): string | undefined {
  const { id, version } = record.manifest;
  if (lifecycleAt(record.retirement, options.now) !== "active")
    return `${id} ${version} is already deprecated`;
  if (options.replacement === version) return "A version cannot replace itself";
  if (options.replacement === undefined && !options.guidance?.trim()) {
    return "A deprecation needs a replacement version or guidance on what to do";
  }
  return undefined;
}

export interface RemoveOptions {
  now: number;
  /** An operator's decision to remove it although callers were not warned in full. */
  force?: boolean;
}

/** The record with its removal date set; refused (E3013) with every reason R1-10 gives, unless forced. */
export function removeRecord(
  record: ToolRecord,
  versions: readonly string[],
  { now, force = false }: RemoveOptions,
): ToolRecord | Failure {
  const { manifest, retirement } = record;
  const blockers = removalBlockers(record, versions, now);
  if (blockers.length > 0 && !force) {
    return failure("E3013", {
      message: `${manifest.id} ${manifest.version} may not be removed yet: ${blockers.join("; ")}`,
      details: { blockers },
    });
  }
  return { ...record, retirement: { ...retirement, removedAt: now } };
}

/** Why a version may not be removed yet (R1-10), given every version of the tool; empty when it may. */
function removalBlockers({ manifest, retirement }: ToolRecord, versions: readonly string[], now: number) {
  const { version } = manifest;
  if (lifecycleAt(retirement, now) === "active") return ["it has not been deprecated"];
  const blockers: string[] = [];
  if (retirement.replacement === undefined && !retirement.guidance)
    blockers.push("it carries no migration guidance");
  const releases = minorReleasesSince(retirement.newestAtDeprecation ?? version, versions);
  if (releases < MINOR_RELEASES_BEFORE_REMOVAL) {
    blockers.push(
      `${releases} of ${MINOR_RELEASES_BEFORE_REMOVAL} minor or major releases have followed its deprecation`,
    );
  }
  if (!hasNewerMajor(version, versions)) blockers.push("no newer major version exists");
  if (!reached(retirement.sunsetAt, now))
    blockers.push(`its warning period ends in ${daysLeft(retirement, now)} days`);
  return blockers;
}

/** Whole days until the sunset date, rounded up; 0 once it has passed. */
export function daysLeft(retirement: Retirement, now: number): number {
  return Math.max(0, Math.ceil(((retirement.sunsetAt ?? now) - now) / DAY_MS));
}

function minorReleasesSince(since: string, versions: readonly string[]): number {
  const later = versions.filter((other) => prerelease(other) === null && compare(other, since) > 0);
  const lines = new Set(later.map(minorLine));
  lines.delete(minorLine(since));
  return lines.size;
}

function minorLine(version: string): string {
  return `${major(version)}.${minor(version)}`;
}

/** "Major" in the sense of the caret range, so that 0.2 is one after 0.1. */
function hasNewerMajor(version: string, versions: readonly string[]): boolean {
  const base = coerce(version)?.version ?? version;
  return versions.some(
    (other) => prerelease(other) === null && compare(other, base) > 0 && !satisfies(other, `^${base}`),
  );
}

function reached(date: number | undefined, now: number): boolean {
  return date !== undefined && date <= now;
}
