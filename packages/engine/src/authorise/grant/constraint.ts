import { isJsonObject, type JsonValue } from "@sallyport/protocol";
import { matchesAny } from "../../match/patterns.ts";
import type { GrantConstraint, UseLimit } from "../../ports/grants.ts";
import type { UseOf } from "../../ports/runner.ts";
import { hostOf, isInside } from "./grant-scope.ts";

/** What a constraint is measured against. Without `use` the question is whether a call may begin at all. */
export interface ConstraintFacts {
  at: number;
  /** Calls that have rested on the grant. */
  calls: number;
  /** When the nth newest use was; undefined when there have been fewer. */
  newestUse(nth: number): number | undefined;
  use?: UseOf;
}

/** Why a grant does not serve. */
export interface GrantRefusal {
  reason: string;
  /** Revoked, expired, or out of its conditions: the grant does not count now, whatever it is used for. */
  isOver?: true;
  /** The limit of uses is reached. */
  isUsedUp?: true;
  /** Present when waiting until then helps. */
  freeAt?: number;
  /** The grant that refuses, where its constraints do. */
  grantId?: string;
}

/** A constraint that is understood, or why it is not; one that is not refuses everything. */
export interface Constraint {
  readonly type: string;
  readonly value: JsonValue;
  readonly problem?: string;
  /** How often the grant may be used, where it limits that. */
  readonly limit?: UseLimit | undefined;
  refuse(facts: ConstraintFacts): GrantRefusal | undefined;
  /** Whether it is certainly at least as tight as another one of its type. */
  isWithin(outer: Constraint): boolean;
}

const DAY_MS = 86_400_000;
/** A higher limit is no limit, and its uses would have to be remembered. */
const MAX_USES = 10_000;
const MAX_WINDOW_MS = 31 * DAY_MS;
const MAX_NAMES = 100;

/** What is particular to one type of constraint. */
interface ConstraintKind<Read extends object | number> {
  /** The value it means, or why it means none. */
  read(value: JsonValue): Read | string;
  refuse?(read: Read, facts: ConstraintFacts): GrantRefusal | undefined;
  /** Why it does not allow one use, where it looks at the use alone. */
  refuseUse?(read: Read, use: UseOf): string | undefined;
  isWithin(inner: Read, outer: Read): boolean;
  limit?(read: Read): UseLimit;
}

const READERS = new Map([
  [
    "rate_limit",
    readerOf<{ max: number; window: number }>({
      read(value) {
        const { max, window } = isJsonObject(value) ? value : {};
        if (!isCount(max, MAX_USES)) return `needs max, a whole number from 1 to ${MAX_USES}`;
        const isWindow = isCount(window, MAX_WINDOW_MS);
        return isWindow ? { max, window } : "needs window, in milliseconds and at most 31 days";
      },
      refuse({ max, window }, { at, newestUse }) {
        const oldest = newestUse(max);
        if (oldest === undefined || oldest <= at - window) return undefined;
        const reason = `${max} uses in ${window} ms are reached`;
        return { reason, isUsedUp: true, freeAt: oldest + window };
      },
      isWithin: (inner, outer) => inner.max <= outer.max && inner.window >= outer.window,
      limit: ({ max, window }) => ({ rates: [{ max, windowMs: window }] }),
    }),
  ],
  [
    "max_uses",
    readerOf<number>({
      read(value) {
        const max = isJsonObject(value) ? value.max : value;
        return isCount(max) ? max : "needs max, a whole number from 1 on";
      },
      // A call that has begun is one of them already.
      refuse: (max, { calls, use }) =>
        !use && calls >= max ? { reason: `all ${max} uses are spent`, isUsedUp: true } : undefined,
      isWithin: (inner, outer) => inner <= outer,
      limit: (max) => ({ maxUses: max }),
    }),
  ],
  [
    "max_file_size",
    readerOf<number>({
      read(value) {
        const bytes = isJsonObject(value) ? value.bytes : value;
        return bytes === 0 || isCount(bytes) ? bytes : "needs a number of bytes";
      },
      refuseUse(most, { bytes }) {
        if (bytes === undefined) return "the size of the file is not told";
        return bytes > most ? `${bytes} bytes are more than ${most}` : undefined;
      },
      isWithin: (inner, outer) => inner <= outer,
    }),
  ],
  [
    "allowed_hosts",
    readerOf<string[]>({
      read: (value) => names(value)?.map((host) => host.toLowerCase()) ?? "needs a list of hosts",
      refuseUse(hosts, { resource }) {
        const host = resource === undefined ? undefined : hostOf(resource);
        if (host === undefined) return "the host is not told";
        return matchesAny(hosts, host) ? undefined : `the host ${host} is not among those allowed`;
      },
      isWithin: (inner, outer) => inner.every((host) => matchesAny(outer, host)),
    }),
  ],
  [
    "allowed_paths",
    readerOf<string[]>({
      read: (value) => names(value) ?? "needs a list of folders",
      refuseUse(folders, { resource }) {
        if (resource === undefined) return "the path is not told";
        return isInside(folders, resource) ? undefined : "the path is in none of the folders allowed";
      },
      isWithin: (inner, outer) => inner.every((folder) => isInside(outer, folder)),
    }),
  ],
]);

/** The constraints that are understood. */
export const CONSTRAINT_TYPES: readonly string[] = [...READERS.keys()];

/** Reads a stored or drafted constraint. Never throws; one of an unknown type or with a wrong value refuses everything. */
export function readConstraint(given: GrantConstraint): Constraint {
  const read = READERS.get(given.type);
  return read?.(given) ?? misread(given, `the constraint type ${JSON.stringify(given.type)} is not known`);
}

/** The first constraint of the outer grant that no constraint of the inner one is certain to keep. */
export function looserThan(
  inner: readonly Constraint[],
  outer: readonly Constraint[],
): Constraint | undefined {
  return outer.find((bound) => !inner.some((own) => own.type === bound.type && own.isWithin(bound)));
}

function readerOf<Read extends object | number>(kind: ConstraintKind<Read>) {
  return ({ type, value }: GrantConstraint): Constraint => {
    const read = kind.read(value);
    if (typeof read === "string") return misread({ type, value }, `${type} ${read}`);
    return {
      type,
      value,
      limit: kind.limit?.(read),
      refuse: (facts) => {
        const reason = facts.use && kind.refuseUse?.(read, facts.use);
        return reason === undefined ? kind.refuse?.(read, facts) : { reason };
      },
      isWithin: (outer) => {
        const bound = outer.type === type ? kind.read(outer.value) : "is of another type";
        return typeof bound !== "string" && kind.isWithin(read, bound);
      },
    };
  };
}

function misread({ type, value }: GrantConstraint, problem: string): Constraint {
  return { type, value, problem, refuse: () => ({ reason: problem }), isWithin: () => false };
}

function isCount(value: unknown, most = Number.MAX_SAFE_INTEGER): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most;
}

/** Undefined unless it is a list of names; an empty one allows nothing and is a mistake. */
function names(value: JsonValue): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_NAMES) return undefined;
  const texts = value.filter((name) => typeof name === "string" && name !== "");
  return texts.length === value.length ? texts.map(String) : undefined;
}
