import { isJsonObject, type JsonValue } from "@sallyport/protocol";
import { matchesAny } from "../../match/patterns.ts";
import type { GrantConstraint } from "../../ports/grants.ts";
import { type Constraint, type ConstraintKind, constraintOf, Misread } from "./constraint.ts";
import { hostOf, isInside } from "./resource-match.ts";

const DAY_MS = 86_400_000;
/** A limit of more is no limit, and its uses would have to be remembered. */
const MOST_USES = 10_000;
const LONGEST_WINDOW_MS = 31 * DAY_MS;
const MOST_NAMES = 100;

interface RateLimit {
  max: number;
  window: number;
}

const rateLimit: ConstraintKind<RateLimit> = {
  read(value) {
    const { max, window } = isJsonObject(value) ? value : {};
    if (!isCount(max, MOST_USES)) return new Misread(`needs max, a whole number from 1 to ${MOST_USES}`);
    if (!isCount(window, LONGEST_WINDOW_MS))
      return new Misread("needs window, in milliseconds and at most 31 days");
    return { max, window };
  },
  refuse({ max, window }, { at, newestUse }) {
    const oldest = newestUse(max);
    if (oldest === undefined || oldest <= at - window) return undefined;
    return { reason: `${max} uses in ${window} ms are reached`, retryAfterMs: oldest + window - at };
  },
  isWithin: (inner, outer) => inner.max <= outer.max && inner.window >= outer.window,
  remembers: ({ max }) => max,
};

const maxUses: ConstraintKind<number> = {
  read(value) {
    const max = isJsonObject(value) ? value.max : value;
    return isCount(max) ? max : new Misread("needs max, a whole number from 1 on");
  },
  /** A call that has begun is one of them already. */
  refuse: (max, { calls, use }) =>
    use === undefined && calls >= max ? { reason: `all ${max} uses are spent` } : undefined,
  isWithin: (inner, outer) => inner <= outer,
};

const maxFileSize: ConstraintKind<number> = {
  read(value) {
    const bytes = isJsonObject(value) ? value.bytes : value;
    const isSize = typeof bytes === "number" && Number.isSafeInteger(bytes) && bytes >= 0;
    return isSize ? bytes : new Misread("needs a number of bytes");
  },
  refuse(most, { use }) {
    if (use === undefined) return undefined;
    if (use.bytes === undefined) return { reason: "the size of the file is not told" };
    return use.bytes > most ? { reason: `${use.bytes} bytes are more than ${most}` } : undefined;
  },
  isWithin: (inner, outer) => inner <= outer,
};

const allowedHosts: ConstraintKind<string[]> = {
  read: (value) => names(value)?.map((host) => host.toLowerCase()) ?? new Misread("needs a list of hosts"),
  refuse(hosts, { use }) {
    if (use === undefined) return undefined;
    const host = use.resource === undefined ? undefined : hostOf(use.resource);
    if (host === undefined) return { reason: "the host is not told" };
    return matchesAny(hosts, host) ? undefined : { reason: `the host ${host} is not among those allowed` };
  },
  isWithin: (inner, outer) => inner.every((host) => matchesAny(outer, host)),
};

const allowedPaths: ConstraintKind<string[]> = {
  read: (value) => names(value) ?? new Misread("needs a list of folders"),
  refuse(folders, { use }) {
    if (use === undefined) return undefined;
    if (use.resource === undefined) return { reason: "the path is not told" };
    return isInside(folders, use.resource)
      ? undefined
      : { reason: "the path is in none of the folders allowed" };
  },
  isWithin: (inner, outer) => inner.every((folder) => isInside(outer, folder)),
};

/** The constraints that are understood, by type. */
export const CONSTRAINT_KINDS: ReadonlyMap<string, (given: GrantConstraint) => Constraint> = new Map([
  ["rate_limit", constraintOf(rateLimit)],
  ["max_uses", constraintOf(maxUses)],
  ["max_file_size", constraintOf(maxFileSize)],
  ["allowed_hosts", constraintOf(allowedHosts)],
  ["allowed_paths", constraintOf(allowedPaths)],
]);

function isCount(value: unknown, most = Number.MAX_SAFE_INTEGER): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most;
}

/** Undefined unless it is a list of names; an empty one allows nothing and is a mistake. */
function names(value: JsonValue): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_NAMES) return undefined;
  const texts = value.filter((name) => typeof name === "string" && name !== "");
  return texts.length === value.length ? texts.map(String) : undefined;
}
