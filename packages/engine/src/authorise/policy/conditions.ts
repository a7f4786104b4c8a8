import {
  type ErrorCode,
  ISOLATION_LEVELS,
  type IsolationLevel,
  isJsonObject,
  type JsonValue,
  LIMIT_NAMES,
  type LimitName,
  type Permissions,
  RISKS,
  type Risk,
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
  look(request: PolicyRequest): JsonValue | readonly string[] | undefined;
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

/** Judges what a call has; undefined in place of one: the document is wrong, which is noted. */
type Judge<Found> = (found: Found) => Truth;

/** Every key of `match` and `unless` that makes one condition, and how it is compiled. */
const CONDITIONS: Readonly<Record<string, Compile>> = {
  tools: about("pattern", ({ tool }) => tool, readNames),
  operations: about("pattern", ({ operation }) => operation, readNames),
  agents: about("pattern", ({ caller }) => caller.agent, readNames),
  users: about("pattern", ({ caller }) => caller.user, readNames),
  verifiedUsers: about("pattern", (call) => (call.userVerified ? call.caller.user : undefined), readNames),
  sessions: about("pattern", ({ caller }) => caller.session, readNames),
  tenants: about("pattern", ({ caller }) => caller.tenant, readNames),
  versions: about("version", ({ version }) => version, readVersions),
  categories: about("word", ({ category }) => category, readWords(TOOL_CATEGORIES)),
  sideEffects: about("word", ({ sideEffects }) => sideEffects, readWords(SIDE_EFFECTS)),
  sources: about("word", ({ source }) => source, readWords(SOURCE_TYPES)),
  risk: about("word", ({ risk }) => risk, readRisk),
  isolation: about("word", ({ isolation }) => isolation, readIsolation),
  unheldLimits: about("list", ({ unheldLimits = [] }) => unheldLimits, readUnheldLimits),
  tags: about("list", ({ tags }) => tags, readTags),
  capabilities: about("list", ({ requiredCapabilities }) => requiredCapabilities, readNeeds),
  credentials: about("list", ({ permissions }) => permissions.credentials, readNeeds),
  paths: reach(["inside", "base"], compilePaths),
  hosts: reach(["hostIn"], compileHosts),
  time: compileTime,
};

/** The codes of denies that depend on a condition, where they are more specific than E3225. */
const CODES: Readonly<Record<string, ErrorCode>> = { credentials: "E3205", paths: "E3203", hosts: "E3204" };

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
    const code = CODES[name];
    return compiled
      ? [{ path: wanted.path.slice(rule.path.length), ...compiled, ...(code && { code }) }]
      : [];
  });
}

/** A condition about one thing of a call: `read` turns what the rule wants into a judgement of it. */
function about<Found extends string | readonly string[] | undefined>(
  cost: keyof typeof COST,
  look: (request: PolicyRequest) => Found,
  read: (wanted: DocumentNode) => Judge<Found> | undefined,
): Compile {
  return (wanted) => {
    const judge = read(wanted);
    return judge && { cost: COST[cost], look, judge: (request) => judge(look(request)) };
  };
}

/** Names by patterns. A call without the name, as one without a user, is matched by no pattern, not even by `*`. */
function readNames(wanted: DocumentNode): Judge<string | undefined> {
  const matches = compilePatterns(wanted.patterns());
  return (name) => truthOf(name !== undefined && matches(name));
}

function readVersions(wanted: DocumentNode): Judge<string> {
  const ranges = wanted.list((item) => {
    const text = item.text(MAX_RANGE);
    if (text === undefined) return undefined;
    return readRange(text) ?? item.wrong("is not a version range", "such as ^2 or >=1.4 <2");
  });
  // Reading a version costs more than the rest of a decision, and there are few different ones.
  const known = new LruMap<string, Truth>(MAX_VERSIONS);
  return (version) => known.getOrAdd(version, () => inRanges(version, ranges));
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

function readWords<Word extends string>(known: readonly Word[]): (wanted: DocumentNode) => Judge<Word> {
  return (wanted) => {
    const words = new Set(wanted.words(known));
    return (found) => truthOf(words.has(found));
  };
}

/** `[high, critical]`, or `{min: high}`. */
function readRisk(wanted: DocumentNode): Judge<Risk> {
  if (!isJsonObject(wanted.value)) return readWords(RISKS)(wanted);
  const least = readRank(wanted, "min", RISKS);
  return (risk) => truthOf(RISKS.indexOf(risk) >= least);
}

/** `{below: LEVEL_2}`: the tool would run with weaker isolation. */
function readIsolation(wanted: DocumentNode): Judge<IsolationLevel> {
  const limit = readRank(wanted, "below", ISOLATION_LEVELS);
  return (isolation) => truthOf(ISOLATION_LEVELS.indexOf(isolation) < limit);
}

/** The rank of the one word in an object such as `{min: high}`. */
function readRank<Word extends string>(node: DocumentNode, key: string, known: readonly Word[]): number {
  const found = node.keys([key]) && node.at(key).word(known);
  return found === undefined ? Number.NaN : known.indexOf(found);
}

/** `[cpu, openFiles]`: nothing would hold or measure one of these limits where the tool runs. */
function readUnheldLimits(wanted: DocumentNode): Judge<readonly LimitName[]> {
  const names = new Set(wanted.words(LIMIT_NAMES));
  return (unheld) => truthOf(unheld.some((name) => names.has(name)));
}

/** A list means any of them, as `{any: […]}` does; `{all: […]}` means all of them. */
function readTags(wanted: DocumentNode): Judge<readonly string[]> | undefined {
  const isList = typeof wanted.value === "string" || Array.isArray(wanted.value);
  if (!isList && !wanted.keys(["any", "all"])) return undefined;
  if (isJsonObject(wanted.value) && Object.keys(wanted.value).length === 0) wanted.wrong("must name a tag");
  const read = (key: string) => wanted.optional(key, (list) => list.patterns(), []);
  const any = isList ? wanted.patterns() : read("any");
  const isAny = compilePatterns(any);
  const all = read("all").map((pattern) => compilePatterns([pattern]));
  return (tags) =>
    truthOf((any.length === 0 || tags.some(isAny)) && all.every((matches) => tags.some(matches)));
}

/** Things a tool needs. When only some of them match it is in doubt: one is enough to deny and not enough to allow. */
function readNeeds(wanted: DocumentNode): Judge<readonly string[]> {
  const matches = compilePatterns(wanted.patterns());
  return (needs) => allAlike(needs, (name) => truthOf(matches(name)));
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
function reach(keys: string[], compile: (wanted: DocumentNode) => Reach): Compile {
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
