import type { JsonObject, JsonValue } from "@sallyport/protocol";
import { pointTo } from "../../match/json-pointer.ts";
import { readArguments } from "./argument-conditions.ts";
import type { Condition, Place, ReadCondition } from "./condition.ts";
import { IDENTITY_CONDITIONS } from "./identity-conditions.ts";
import { REACH_CONDITIONS } from "./reach-conditions.ts";
import { readTime } from "./time-condition.ts";
import { TRAIT_CONDITIONS } from "./trait-conditions.ts";

/** Every key of `match` and `unless`, and how it is compiled. */
const CONDITIONS: Readonly<Record<string, ReadCondition>> = {
  ...IDENTITY_CONDITIONS,
  ...TRAIT_CONDITIONS,
  ...REACH_CONDITIONS,
  arguments: readArguments,
  time: readTime,
};

export const MATCH_KEYS = Object.keys(CONDITIONS);

/** The conditions under `match` or `unless`, in the order they stand there; all of them have to hold. */
export function readMatch(value: JsonValue | undefined, place: Place): Condition[] {
  const { path, within, reading } = place;
  const given: JsonObject | undefined = reading.object(value, path, MATCH_KEYS);
  if (!given) return [];
  if (Object.keys(given).length === 0) {
    reading.wrong(path, "must have a condition", "for what holds everywhere there is `default`");
  }
  return Object.entries(given).flatMap(([key, wanted]) => {
    const read = Object.hasOwn(CONDITIONS, key) ? CONDITIONS[key] : undefined;
    return read?.(wanted, { path: pointTo(path, key), within: pointTo(within, key), reading }) ?? [];
  });
}
