import type { ErrorCode, JsonValue } from "@sallyport/protocol";
import type { Reading } from "../../match/reading.ts";
import { NO, type Truth, YES } from "../../match/truth.ts";
import type { PolicyRequest } from "../../ports/policy.ts";

/** How much judging costs, so that a rule looks at the cheap things first. */
export const COST = { word: 0, pattern: 1, list: 2, version: 3, argument: 4, reach: 5, time: 6 } as const;

/** One thing a rule asks of a call, compiled. It never throws: what it cannot judge is in doubt. */
export interface Condition {
  /** JSON Pointer inside its rule, such as `/match/tools`. */
  readonly path: string;
  readonly cost: number;
  judge(request: PolicyRequest): Truth;
  /** What it looked at, for an explanation. */
  look(request: PolicyRequest): JsonValue | undefined;
  /** JSON Pointer of the argument it is about. */
  readonly argument?: string;
  /** The code of a deny that rests on it, where there is a better one than "a rule denies". */
  readonly code?: ErrorCode;
  /** True when the answer changes as time goes by. */
  readonly timed?: boolean;
}

/** Where a condition is being read, and where wrong places are noted. */
export interface Place {
  /** JSON Pointer inside the document. */
  path: string;
  /** JSON Pointer inside the rule. */
  within: string;
  reading: Reading;
}

/** Compiles what stands under one key of `match`. What is wrong is noted and gives no condition. */
export type ReadCondition = (value: JsonValue, place: Place) => Condition[];

/** A condition that can always be judged. */
export function plainCondition(
  place: Place,
  { holds, ...rest }: Pick<Condition, "cost" | "look"> & { holds(request: PolicyRequest): boolean },
): Condition {
  return { path: place.within, ...rest, judge: (request) => verdict(holds(request)) };
}

export function verdict(holds: boolean): Truth {
  return holds ? YES : NO;
}
