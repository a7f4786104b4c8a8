import {
  type ErrorCode,
  ISOLATION_LEVELS,
  isJsonObject,
  type JsonValue,
  LIMIT_NAMES,
  type Permissions,
  RISKS,
  SIDE_EFFECTS,
  SOURCE_TYPES,
  TOOL_CATEGORIES,
} from "@sallyport/protocol";
import { Range, valid } from "semver";
import { LruMap } from "../../lru-map.ts";
import {
  type ArgumentTest,
  compileArgumentTest,
  hostTest,
  insideTest,
  readHosts,
  readInside,
} from "../../match/argument-test.ts";
import { BLOCKED, type DocumentNode, lookUp, parsePointer } from "../../match/document.ts";
import { folderWithin, hostsWithin, readHostPattern, readPath } from "../../match/locations.ts";
import { compilePatterns } from "../../match/patterns.ts";
import { allAlike, anyOf, NO, type Truth, truthOf, UNSURE, YES } from "../../match/truth.ts";
import type { PolicyRequest } from "../../ports/authority.ts";
import { isTime, readTimeWindow } from "./time-window.ts";

/** Relative cost of a condition: a rule judges the cheap ones first. */
const COST = { word: 0, pattern: 1, list: 2, version: 3, argument: 4, reach: 5, time: 6 } as const;
const MAX_ARGUMENTS = 50;
const MAX_RANGE = 256;
const MAX_VERSIONS = 200;

/** One compiled condition of a rule. It never throws: what it cannot judge is in doubt. */
export interface Condition {
  /** JSON Pointer inside its rule, such as `/match/tools`. */
  readonly path: string;
  readonly cost: number;
  judge(request: PolicyRequest): Truth;
  /** What it looked at, for an explanation. */
  look(request: PolicyRequest): JsonValue | undefined;
  /** JSON Pointer of the argument it is about. */
  readonly argument?: string;
  /** The error code of a deny that depends on this condition, when it is more specific than E3225. */
  readonly code?: ErrorCode;
  /** True when the answer changes as time goes by. */
  readonly timed?: boolean;
}

/** A condition without its path. */
type Compiled = Omit<Condition, "path">;

/** Compiles what stands under one key of `match`. Undefined when it is wrong, which is noted. */
type Compile = (wanted: DocumentNode) => Compiled | undefined;

/** Every key of `match` and `unless` that makes one condition, and how it is compiled. */
const CONDITIONS: Readonly<Record<string, Compile>> = {
  tools: named(({ tool }) => tool),
  operations: named(({ operation }) => operation),
  agents: named(({ caller }) => caller.agent),
  users: named(({ caller }) => caller.user),
  verifiedUsers: named(({ caller, userVerified }) => (userVerified ? caller.user : undefined)),
  sessions: named(({ caller }) => caller.session),
  tenants: named(({ caller }) => caller.tenant),
  versions: compileVersions,
  categories: word(TOOL_CATEGORIES, ({ category }) => category),
  sideEffects: word(SIDE_EFFECTS, ({ sideEffects }) => sideEffects),
  sources: word(SOURCE_TYPES, ({ source }) => source),
  risk: compileRisk,
  isolation: compileIsolation,
  unheldLimits: compileUnheldLimits,
  tags: compileTags,
  capabilities: needed(({ requiredCapabilities }) => requiredCapabilities),
  credentials: needed(({ permissions }) => permissions.credentials, "E3205"),
  paths: reach(["inside", "base"], "E3203", compilePaths),
  hosts: reach(["hostIn"], "E3204", compileHosts),
  time: compileTime,
};

const MATCH_KEYS = [...Object.keys(CONDITIONS), "arguments"];
/** Where the condition about the tool's name stands in its rule. */
export const TOOLS_PATH = "/match/tools";

/** The conditions under `match` or `unless` of a rule, in the order they stand there; all of them have to hold. */
export function readConditions(rule: DocumentNode, key: "match" | "unless"): Condition[] {
  const match = rule.at(key);
  const keys = match.keys(MATCH_KEYS);
  if (keys && Object.keys(match.value ?? {}).length === 0)
    match.wrong("must have a condition", "for what holds everywhere there is `default`");
  return (keys ?? []).flatMap((name) => {
    const wanted = match.at(name);
    if (name === "arguments") return compileArguments(wanted, rule.path.length);
    const compiled = CONDITIONS[name]?.(wanted);
    return compiled ? [{ path: wanted.path.slice(rule.path.length), ...compiled }] : [];
  });
}

function plain(cost: number, look: Condition["look"], holds: (request: PolicyRequest) => boolean): Compiled {
  return { cost, look, judge: (request) => truthOf(holds(request)) };
}

/** A name by patterns. A call without the name, as one without a user, is matched by no pattern, not even by `*`. */
function named(nameOf: (request: PolicyRequest) => string | undefined): Compile {
  return (wanted) => {
    const matches = compilePatterns(wanted.patterns());
    const judge = (request: PolicyRequest) => {
      const name = nameOf(request);
      return truthOf(name !== undefined && matches(name));
    };
    return { cost: COST.pattern, look: nameOf, judge };
  };
}

function compileVersions(wanted: DocumentNode): Compiled {
  const ranges = wanted.list((item) => {
    const text = item.text(MAX_RANGE);
    if (text === undefined) return undefined;
    return readRange(text) ?? item.wrong("is not a version range", "such as ^2 or >=1.4 <2");
  });
  // Reading a version costs more than the rest of a decision, and there are few different ones.
  const known = new LruMap<string, Truth>(MAX_VERSIONS);
  const judge = ({ version }: PolicyRequest) => known.getOrAdd(version, () => inRanges(version, ranges));
  return { cost: COST.version, judge, look: ({ version }) => version };
}

interface ReadRange {
  strict: Range;
  /** The same with prereleases, which a range leaves out unless it names one. */
  wide: Range;
}

function readRange(text: string): ReadRange | undefined {
  try {
    return { strict: new Range(text), wide: new Range(text, { includePrerelease: true }) };
  } catch {
    return undefined;
  }
}

/** A prerelease inside the range is in doubt: a deny applies to it, an allow does not. */
function inRanges(version: string, ranges: readonly ReadRange[]): Truth {
  if (valid(version) === null) return UNSURE;
  if (ranges.some(({ strict }) => strict.test(version))) return YES;
  return ranges.some(({ wide }) => wide.test(version)) ? UNSURE : NO;
}

function word<Word extends string>(known: readonly Word[], look: (request: PolicyRequest) => Word): Compile {
  return (wanted) => {
    const words = new Set(wanted.words(known));
    return plain(COST.word, look, (request) => words.has(look(request)));
  };
}

/** `[high, critical]`, or `{min: high}`. */
function compileRisk(wanted: DocumentNode): Compiled | undefined {
  const look = ({ risk }: PolicyRequest) => risk;
  if (!isJsonObject(wanted.value)) return word(RISKS, look)(wanted);
  const least = readRank(wanted, "min", RISKS);
  return plain(COST.word, look, ({ risk }) => RISKS.indexOf(risk) >= least);
}

/** `{below: LEVEL_2}`: the tool would run with weaker isolation. */
function compileIsolation(wanted: DocumentNode): Compiled {
  const limit = readRank(wanted, "below", ISOLATION_LEVELS);
  const look = ({ isolation }: PolicyRequest) => isolation;
  return plain(COST.word, look, ({ isolation }) => ISOLATION_LEVELS.indexOf(isolation) < limit);
}

/** The rank of the one word in an object such as `{min: high}`. */
function readRank<Word extends string>(node: DocumentNode, key: string, known: readonly Word[]): number {
  const found = node.keys([key]) && node.at(key).word(known);
  return found === undefined ? Number.NaN : known.indexOf(found);
}

/** `[cpu, openFiles]`: nothing would hold or measure one of these limits where the tool runs. */
function compileUnheldLimits(wanted: DocumentNode): Compiled {
  const names = new Set(wanted.words(LIMIT_NAMES));
  const look = ({ unheldLimits = [] }: PolicyRequest) => [...unheldLimits];
  return plain(COST.list, look, ({ unheldLimits = [] }) => unheldLimits.some((name) => names.has(name)));
}

/** A list means any of them, as `{any: […]}` does; `{all: […]}` means all of them. */
function compileTags(wanted: DocumentNode): Compiled | undefined {
  const isList = typeof wanted.value === "string" || Array.isArray(wanted.value);
  const keys = isList ? [] : wanted.keys(["any", "all"]);
  if (!keys) return undefined;
  if (isJsonObject(wanted.value) && Object.keys(wanted.value).length === 0) wanted.wrong("must name a tag");
  const read = (key: string) => wanted.optional(key, (list) => list.patterns(), []);
  const any = isList ? wanted.patterns() : read("any");
  const isAny = compilePatterns(any);
  const all = read("all").map((pattern) => compilePatterns([pattern]));
  return plain(
    COST.list,
    ({ tags }) => [...tags],
    ({ tags }) => (any.length === 0 || tags.some(isAny)) && all.every((matches) => tags.some(matches)),
  );
}

/** Things a tool needs. When only some of them match it is in doubt: one is enough to deny and not enough to allow. */
function needed(listOf: (request: PolicyRequest) => readonly string[], code?: ErrorCode): Compile {
  return (wanted) => {
    const matches = compilePatterns(wanted.patterns());
    const judge = (request: PolicyRequest) => allAlike(listOf(request), (name) => truthOf(matches(name)));
    return { cost: COST.list, judge, look: (request) => [...listOf(request)], ...(code && { code }) };
  };
}

/** An argument that a rule names. */
interface Pointer {
  pointer: string;
  tokens: string[];
}

function readPointer(pointer: string, node: DocumentNode): Pointer | undefined {
  const tokens = parsePointer(pointer);
  return tokens
    ? { pointer, tokens }
    : node.wrong("is not a JSON Pointer", 'it begins with "/", such as /env');
}

/** What the test says of an argument; in doubt when its pointer leads through a value that has no members. */
function judgeAt(input: JsonValue, { tokens }: Pointer, test: ArgumentTest): Truth {
  const found = lookUp(input, tokens);
  return found === BLOCKED ? UNSURE : test(found);
}

/** Tests of arguments by JSON Pointer, each a condition of its own. */
function compileArguments(wanted: DocumentNode, ruleLength: number): Condition[] {
  if (!isJsonObject(wanted.value)) {
    wanted.wrong("must be an object of tests by JSON Pointer", 'such as {"/env": {"equals": "prod"}}');
    return [];
  }
  const names = Object.keys(wanted.value);
  if (names.length === 0) wanted.wrong("must name an argument");
  if (names.length > MAX_ARGUMENTS) wanted.wrong(`must name at most ${MAX_ARGUMENTS} arguments`);
  return names.slice(0, MAX_ARGUMENTS).flatMap((name) => {
    const node = wanted.at(name);
    const pointer = readPointer(name, node);
    const test = compileArgumentTest(node);
    if (!pointer || !test) return [];
    const judge = ({ input }: PolicyRequest) => judgeAt(input, pointer, test);
    const look = ({ input }: PolicyRequest) => {
      const found = lookUp(input, pointer.tokens);
      return found === BLOCKED ? undefined : found;
    };
    return [{ path: node.path.slice(ruleLength), cost: COST.argument, judge, look, argument: name }];
  });
}

/** What a call can touch of one kind. */
interface Reach {
  test: ArgumentTest;
  /** What the manifest permits. */
  permitted(permissions: Permissions): Truth;
  look(permissions: Permissions): string[];
}

/**
 * What a call can touch: the values of the arguments that the rule names, when the call has them; else everything that
 * the manifest permits. In doubt when only a part of it matches.
 */
function reach(keys: string[], code: ErrorCode, compile: (wanted: DocumentNode) => Reach): Compile {
  return (wanted) => {
    if (!wanted.keys([...keys, "arguments"])) return undefined;
    const { test, permitted, look } = compile(wanted);
    const pointers = wanted.optional("arguments", readPointers, []);
    const namedIn = (input: JsonValue) =>
      pointers.filter(({ tokens }) => lookUp(input, tokens) !== undefined);
    return {
      cost: COST.reach,
      judge: ({ input, permissions }) => {
        const there = namedIn(input);
        if (there.length === 0) return permitted(permissions);
        return allAlike(there, (pointer) => judgeAt(input, pointer, test));
      },
      look: ({ input, permissions }) => {
        const found = namedIn(input).map(({ tokens }) => lookUp(input, tokens) ?? BLOCKED);
        return found.length === 0 ? look(permissions) : found.filter((value) => value !== BLOCKED);
      },
      code,
      ...(pointers[0] && { argument: pointers[0].pointer }),
    };
  };
}

function readPointers(list: DocumentNode): Pointer[] {
  return list.list((item) => {
    const pointer = item.text();
    return pointer === undefined ? undefined : readPointer(pointer, item);
  });
}

function compilePaths(wanted: DocumentNode): Reach {
  const inside = readInside(wanted);
  const look = ({ filesystem }: Permissions) => filesystem.map(({ path }) => path);
  const judge = (permitted: string): Truth => {
    const path = readPath(permitted, inside.base);
    return path === undefined ? UNSURE : anyOf(inside.folders, (folder) => folderWithin(path, folder));
  };
  return {
    test: insideTest(inside, wanted),
    permitted: (permissions) => allAlike(look(permissions), judge),
    look,
  };
}

function compileHosts(wanted: DocumentNode): Reach {
  const allowed = readHosts(wanted.at("hostIn"));
  const judge = ({ host, port }: Permissions["network"][number]): Truth => {
    const read = readHostPattern(host);
    if (read === undefined) return UNSURE;
    // The `port` field overrides a port in the host's text.
    const hosts = port === undefined ? read : { ...read, port };
    return anyOf(allowed, (outer) => hostsWithin(hosts, outer));
  };
  return {
    test: hostTest(allowed, wanted),
    permitted: ({ network }) => allAlike(network, judge),
    look: ({ network }) => network.map(({ host, port }) => (port === undefined ? host : `${host}:${port}`)),
  };
}

function compileTime(wanted: DocumentNode): Compiled | undefined {
  const window = readTimeWindow(wanted);
  if (!window) return undefined;
  const judge = ({ at }: PolicyRequest) => {
    const isInside = window.includes(at);
    return isInside === undefined ? UNSURE : truthOf(isInside);
  };
  const look = ({ at }: PolicyRequest) => (isTime(at) ? new Date(at).toISOString() : String(at));
  return { cost: COST.time, judge, look, timed: true };
}
