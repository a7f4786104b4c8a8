import {
  ISOLATION_LEVELS,
  type JsonValue,
  RISKS,
  SIDE_EFFECTS,
  SOURCE_TYPES,
  TOOL_CATEGORIES,
} from "@sallyport/protocol";
import { pointTo } from "../../match/json-pointer.ts";
import { compilePatterns } from "../../match/patterns.ts";
import { allAlike } from "../../match/truth.ts";
import type { PolicyRequest } from "../../ports/policy.ts";
import {
  COST,
  type Condition,
  type Place,
  plainCondition,
  type ReadCondition,
  verdict,
} from "./condition.ts";

/** What the tool's manifest says of it, and what its runner offers. */
export const TRAIT_CONDITIONS = {
  categories: word(TOOL_CATEGORIES, ({ category }) => category),
  sideEffects: word(SIDE_EFFECTS, ({ sideEffects }) => sideEffects),
  sources: word(SOURCE_TYPES, ({ source }) => source),
  risk: readRisk,
  isolation: readIsolation,
  tags: readTags,
  capabilities: needed(({ requiredCapabilities }) => requiredCapabilities),
  credentials: (value, place) =>
    needed(({ permissions }) => permissions.credentials)(value, place).map((condition) => ({
      ...condition,
      code: "E3205" as const,
    })),
} satisfies Record<string, ReadCondition>;

function word<Word extends string>(
  known: readonly Word[],
  look: (request: PolicyRequest) => Word,
): ReadCondition {
  return (value, place) => {
    const wanted = new Set(
      place.reading.list(value, place.path, (item, at) => place.reading.word(item, at, known)),
    );
    return [plainCondition(place, { cost: COST.word, look, holds: (request) => wanted.has(look(request)) })];
  };
}

/** `[high, critical]`, or `{min: high}`. */
function readRisk(value: JsonValue, place: Place): Condition[] {
  const look = ({ risk }: PolicyRequest) => risk;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return word(RISKS, look)(value, place);
  const min = readOnly("min", { value, known: RISKS }, place);
  const least = min === undefined ? RISKS.length : RISKS.indexOf(min);
  return [
    plainCondition(place, { cost: COST.word, look, holds: ({ risk }) => RISKS.indexOf(risk) >= least }),
  ];
}

/** `{below: LEVEL_2}`: what is offered here is weaker. */
function readIsolation(value: JsonValue, place: Place): Condition[] {
  const below = readOnly("below", { value, known: ISOLATION_LEVELS }, place);
  const limit = below === undefined ? 0 : ISOLATION_LEVELS.indexOf(below);
  const holds = ({ isolation }: PolicyRequest) => ISOLATION_LEVELS.indexOf(isolation) < limit;
  return [plainCondition(place, { cost: COST.word, look: ({ isolation }) => isolation, holds })];
}

/** The one member an object of this kind has. */
function readOnly<Word extends string>(
  key: string,
  { value, known }: { value: JsonValue; known: readonly Word[] },
  { path, reading }: Place,
): Word | undefined {
  const given = reading.object(value, path, [key]);
  return given && reading.word(given[key], pointTo(path, key), known);
}

/** A list means any of them; `{any: […], all: […]}` says it in so many words. */
function readTags(value: JsonValue, place: Place): Condition[] {
  const { path, reading } = place;
  const plain = typeof value === "string" || Array.isArray(value);
  const given = plain ? { any: value } : reading.object(value, path, ["any", "all"]);
  if (!given) return [];
  if (Object.keys(given).length === 0) reading.wrong(path, "must name a tag");
  const read = (key: "any" | "all") =>
    given[key] === undefined ? [] : reading.patterns(given[key], plain ? path : pointTo(path, key));
  const any = read("any");
  const matchesAny = compilePatterns(any);
  const all = read("all").map((pattern) => compilePatterns([pattern]));
  const holds = ({ tags }: PolicyRequest) =>
    (any.length === 0 || tags.some(matchesAny)) && all.every((matches) => tags.some(matches));
  return [plainCondition(place, { cost: COST.list, look: ({ tags }) => [...tags], holds })];
}

/** Things a tool needs: in doubt when only some of them match, so that one is enough to forbid and not to allow. */
function needed(listOf: (request: PolicyRequest) => readonly string[]): ReadCondition {
  return (value, { path, within, reading }) => {
    const matches = compilePatterns(reading.patterns(value, path));
    const judge = (request: PolicyRequest) => allAlike(listOf(request), (name) => verdict(matches(name)));
    return [{ path: within, cost: COST.list, judge, look: (request) => [...listOf(request)] }];
  };
}
