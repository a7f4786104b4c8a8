import type { JsonValue } from "@sallyport/protocol";
import { type ArgumentTest, compileArgumentTest } from "../../match/argument-test.ts";
import { ABSENT, BLOCKED, lookUp, parsePointer, pointTo } from "../../match/json-pointer.ts";
import { UNSURE } from "../../match/truth.ts";
import type { PolicyRequest } from "../../ports/policy.ts";
import { COST, type Condition, type Place } from "./condition.ts";

const MAX_ARGUMENTS = 50;

/** Tests of arguments by JSON Pointer, each a condition of its own. */
export function readArguments(value: JsonValue, { path, within, reading }: Place): Condition[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    reading.wrong(path, "must be an object of tests by JSON Pointer", 'such as {"/env": {"equals": "prod"}}');
    return [];
  }
  const pointers = Object.keys(value);
  if (pointers.length === 0) reading.wrong(path, "must name an argument");
  if (pointers.length > MAX_ARGUMENTS) reading.wrong(path, `must name at most ${MAX_ARGUMENTS} arguments`);
  return pointers.slice(0, MAX_ARGUMENTS).flatMap((pointer) => {
    const place = { path: pointTo(path, pointer), within: pointTo(within, pointer), reading };
    return readArgument(pointer, value[pointer] ?? null, place);
  });
}

function readArgument(pointer: string, wanted: JsonValue, { path, within, reading }: Place): Condition[] {
  const tokens = readPointer(pointer, path, reading);
  const test = compileArgumentTest(wanted, path, reading);
  if (!tokens || !test) return [];
  const look = ({ input }: PolicyRequest) => shown(lookUp(input, tokens));
  const judge = ({ input }: PolicyRequest) => judgeAt(input, tokens, test);
  return [{ path: within, cost: COST.argument, judge, look, argument: pointer }];
}

/** The tokens of a pointer that a rule names. */
export function readPointer(pointer: string, path: string, reading: Place["reading"]): string[] | undefined {
  return (
    parsePointer(pointer) ?? reading.wrong(path, "is not a JSON Pointer", 'it begins with "/", such as /env')
  );
}

/** What the test says of an argument; in doubt when the way to it leads through something without members. */
export function judgeAt(input: JsonValue, tokens: readonly string[], test: ArgumentTest) {
  const found = lookUp(input, tokens);
  if (found === BLOCKED) return UNSURE;
  return test(found === ABSENT ? undefined : found);
}

function shown(found: ReturnType<typeof lookUp>): JsonValue | undefined {
  return typeof found === "symbol" ? undefined : found;
}
