import { canonicalJson, isJsonObject, type JsonValue } from "@sallyport/protocol";
import { RE2JS } from "re2js";
import type { DocumentNode } from "./document.ts";
import {
  type Hosts,
  hostsWithin,
  type PlainPath,
  pathInside,
  readHostPattern,
  readPath,
} from "./locations.ts";
import { compileResources, isUrlLike, judgeReadings } from "./patterns.ts";
import { allAlike, anyOf, NO, negate, type Truth, truthOf, UNSURE, YES } from "./truth.ts";

const MAX_NESTING = 4;
/** Longer texts are in doubt for a pattern, so that no argument can make a decision slow. */
const MAX_GLOB_TEXT = 65_536;
const MAX_FOLDER = 4_096;
const MAX_REGEX = 1_000;
const MAX_INSTRUCTIONS = 5_000;
/** Text times pattern: about 20 ms at worst. */
const MAX_REGEX_WORK = 1_000_000;

/**
 * Judges one argument; undefined when the call does not have it. A value of the wrong type, or one that cannot be read,
 * is in doubt. A list is judged by its entries. A missing argument satisfies only `exists: false`; a `not` about it is
 * in doubt.
 */
export type ArgumentTest = (value: JsonValue | undefined) => Truth;

type Judge<Value extends JsonValue = JsonValue> = (value: Value) => Truth;

/** Compiles the test under one key; `test` is the object around it. Undefined when it is wrong, which is noted. */
type Compile = (wanted: DocumentNode, test: DocumentNode, depth: number) => ArgumentTest | undefined;

/** Every key of a test, and how it is compiled. */
const TESTS: Readonly<Record<string, Compile>> = {
  exists: (wanted) => {
    const isWanted = wanted.boolean();
    return isWanted === undefined ? undefined : (value) => truthOf((value !== undefined) === isWanted);
  },
  equals: ({ value = null }) => ofValue(oneOf([value]), { isWhole: Array.isArray(value) }),
  oneOf: (wanted) => {
    const { value } = wanted;
    if (!Array.isArray(value) || value.length === 0)
      return wanted.wrong("must be a list of values", 'such as ["a", "b"]');
    return ofValue(oneOf(value), { isWhole: value.some(Array.isArray) });
  },
  min: bound((value, limit) => value >= limit),
  max: bound((value, limit) => value <= limit),
  above: bound((value, limit) => value > limit),
  below: bound((value, limit) => value < limit),
  glob: (wanted) => {
    const patterns = wanted.patterns();
    const judge: Judge<string> = patterns.includes("*") ? () => YES : compileResources(patterns);
    return ofText((text) => (text.length > MAX_GLOB_TEXT ? UNSURE : judge(text)));
  },
  regex: compileRegex,
  inside: (_wanted, test) => insideTest(readInside(test), test),
  hostIn: (wanted) => hostTest(readHosts(wanted), wanted),
  not: (wanted, _test, depth) => {
    const inner = compile(wanted, depth + 1);
    // Nobody can say what a missing argument is not, unless the test asks whether it is there.
    return (
      inner && ((value) => (value === undefined && !wanted.has("exists") ? UNSURE : negate(inner(value))))
    );
  },
};

const KEYS = [...Object.keys(TESTS), "base"];

/** Compiles `{equals: …}`, `{inside: […]}` and the like; all keys have to hold. Undefined when anything is wrong. */
export function compileArgumentTest(test: DocumentNode): ArgumentTest | undefined {
  return compile(test, 0);
}

function compile(test: DocumentNode, depth: number): ArgumentTest | undefined {
  if (depth > MAX_NESTING) return test.wrong(`must not nest deeper than ${MAX_NESTING}`);
  const keys = test.keys(KEYS)?.filter((key) => key !== "base");
  if (!keys) return undefined;
  if (test.has("base") && !test.has("inside"))
    test.at("base").wrong("says what relative paths are relative to", 'add "inside"');
  if (keys.length === 0) return test.wrong("must say what to look for", `one of ${KEYS.join(", ")}`);
  const compiled = keys.map((key) => TESTS[key]?.(test.at(key), test, depth));
  const all = compiled.filter((one) => one !== undefined);
  if (all.length < compiled.length) return undefined;
  return all.length === 1 ? all[0] : (value) => Math.min(...all.map((one) => one(value))) as Truth;
}

/** Lists are judged entry by entry, unless the whole list is what is looked for. */
function ofValue(judge: Judge, { isWhole = false } = {}): ArgumentTest {
  return (value) => {
    if (value === undefined) return NO;
    return Array.isArray(value) && !isWhole ? allAlike(value, judge) : judge(value);
  };
}

function ofText(judge: Judge<string>): ArgumentTest {
  return ofValue((value) => (typeof value === "string" ? judge(value) : UNSURE));
}

/** A value of a type nobody listed is in doubt: some tools take "5" for 5. */
function oneOf(wanted: readonly JsonValue[]): Judge {
  const scalars = new Set(wanted.filter((value) => !isContainer(value)));
  const containers = new Set(wanted.filter(isContainer).map(canonicalJson));
  const types = new Set(wanted.map(typeOf));
  const isListed = (value: JsonValue) =>
    isContainer(value) ? containers.size > 0 && containers.has(textOf(value)) : scalars.has(value);
  return (value) => {
    if (isListed(value)) return YES;
    return types.has(typeOf(value)) ? NO : UNSURE;
  };
}

function isContainer(value: JsonValue): boolean {
  return Array.isArray(value) || isJsonObject(value);
}

function textOf(value: JsonValue): string {
  try {
    return canonicalJson(value);
  } catch {
    // Half a character somewhere in it: equal to nothing that a document can hold.
    return "";
  }
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function bound(holds: (value: number, limit: number) => boolean): Compile {
  return (wanted) => {
    const limit = wanted.number();
    if (limit === undefined) return undefined;
    return ofValue((value) => (typeof value === "number" ? truthOf(holds(value, limit)) : UNSURE));
  };
}

/** Begins with a slash, or with a name and a slash. */
const PATH_LIKE = /^[^\s/\\]*[/\\]/;

/** Searched for anywhere in the text, in the syntax of RE2, in time linear in the text. */
function compileRegex(wanted: DocumentNode): ArgumentTest | undefined {
  const pattern = readRegex(wanted);
  if (!pattern) return undefined;
  const longest = Math.floor(MAX_REGEX_WORK / pattern.programSize());
  const holds = (text: string) => pattern.test(text);
  return ofText((text) => {
    if (text.length > longest || !text.isWellFormed()) return UNSURE;
    if (!isUrlLike(text) && !PATH_LIKE.test(text)) return truthOf(holds(text));
    return judgeReadings(text, holds, (served) => holds(served) || holds(text));
  });
}

function readRegex(wanted: DocumentNode): RE2JS | undefined {
  const source = wanted.text(MAX_REGEX);
  if (source === undefined) return undefined;
  try {
    const pattern = RE2JS.compile(source);
    if (pattern.programSize() <= MAX_INSTRUCTIONS) return pattern;
    return wanted.wrong("is too large a pattern", "use smaller repeat counts");
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    const suggestion = "use the syntax of RE2, which has no lookaround and no backreferences";
    return wanted.wrong(`is not a pattern that runs in linear time: ${why}`, suggestion);
  }
}

interface Inside {
  folders: PlainPath[];
  /** What relative paths are relative to. */
  base: PlainPath | undefined;
}

/** The folders under `inside` and the `base` beside it, in their plain form. */
export function readInside(test: DocumentNode): Inside {
  const base = test.optional("base", readBase);
  const folders = test.at("inside").list((item) => {
    const text = item.text(MAX_FOLDER);
    if (text === undefined) return undefined;
    const suggestion = "such as /srv/data; no .. that leads out of its base";
    return readPath(text, base) ?? item.wrong("is not a plain path", suggestion);
  });
  return { folders, base };
}

function readBase(base: DocumentNode): PlainPath | undefined {
  const { value } = base;
  const path = typeof value === "string" && value.startsWith("/") ? readPath(value) : undefined;
  return path ?? base.wrong("must be an absolute path");
}

/** Whether a path is in one of the folders. */
export function insideTest({ folders, base }: Inside, { document }: DocumentNode): ArgumentTest {
  return ofText((text) => {
    const path = document.readPath(text, base);
    return path === undefined ? UNSURE : anyOf(folders, (folder) => pathInside(path, folder));
  });
}

/** The hosts of a `hostIn`. */
export function readHosts(wanted: DocumentNode): Hosts[] {
  return wanted.list((item) => {
    const text = item.text();
    if (text === undefined) return undefined;
    const suggestion = "such as example.com, *.example.com or example.com:443";
    return readHostPattern(text) ?? item.wrong("is not a host", suggestion);
  });
}

/** Whether a URL or host is one of the allowed. */
export function hostTest(allowed: readonly Hosts[], { document }: DocumentNode): ArgumentTest {
  return ofText((text) => {
    const host = document.readHost(text);
    return host === undefined ? UNSURE : anyOf(allowed, (hosts) => hostsWithin(host, hosts));
  });
}
