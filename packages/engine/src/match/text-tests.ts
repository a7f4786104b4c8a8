import type { JsonObject, JsonValue } from "@sallyport/protocol";
import { RE2JS } from "re2js";
import { type Hosts, hostsWithin, readHostPattern } from "./hosts.ts";
import { pointTo } from "./json-pointer.ts";
import { type PlainPath, pathInside, readPath } from "./paths.ts";
import { compilePatterns } from "./patterns.ts";
import type { Reading } from "./reading.ts";
import { anyOf, NO, type Truth, UNSURE, YES } from "./truth.ts";

export const TEXT_TESTS = ["glob", "regex", "inside", "hostIn"] as const;
export type TextTest = (typeof TEXT_TESTS)[number];

/** Longer texts are in doubt for a pattern, so that no argument can make a decision slow. */
const MAX_GLOB_TEXT = 65_536;
const MAX_FOLDER = 4_096;
const MAX_REGEX = 1_000;
const MAX_INSTRUCTIONS = 5_000;
/** Text times pattern: about 20 ms at worst. */
const MAX_REGEX_WORK = 1_000_000;

/** Says what holds of a text; what cannot be read is in doubt. */
export type TextJudge = (text: string) => Truth;

/** Compiles the test of a text that stands under a key. Undefined when it is wrong, with the reason noted. */
export function compileTextTest(
  key: TextTest,
  { test, path }: { test: JsonObject; path: string },
  reading: Reading,
): TextJudge | undefined {
  const at = pointTo(path, key);
  if (key === "inside") return insideTest(readInside(test, path, reading), reading);
  if (key === "hostIn") return hostTest(readHosts(test.hostIn, at, reading), reading);
  if (key === "regex") return regexTest(test.regex, at, reading);
  const matches = compilePatterns(reading.patterns(test.glob, at));
  return (text) => (text.length > MAX_GLOB_TEXT ? UNSURE : verdict(matches(text)));
}

function verdict(holds: boolean): Truth {
  return holds ? YES : NO;
}

/** Searched for anywhere in the text, in the syntax of RE2, in time linear in the text. */
function regexTest(wanted: unknown, path: string, reading: Reading): TextJudge | undefined {
  const source = reading.text(wanted, path, MAX_REGEX);
  const pattern = source === undefined ? undefined : compileRegex(source, path, reading);
  if (!pattern) return undefined;
  const longest = Math.floor(MAX_REGEX_WORK / pattern.programSize());
  return (text) => (text.length > longest || !text.isWellFormed() ? UNSURE : verdict(pattern.test(text)));
}

function compileRegex(source: string, path: string, reading: Reading): RE2JS | undefined {
  try {
    const pattern = RE2JS.compile(source);
    if (pattern.programSize() <= MAX_INSTRUCTIONS) return pattern;
    return reading.wrong(path, "is too large a pattern", "use smaller repeat counts");
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    const suggestion = "use the syntax of RE2, which has no lookaround and no backreferences";
    return reading.wrong(path, `is not a pattern that runs in linear time: ${why}`, suggestion);
  }
}

interface Inside {
  folders: PlainPath[];
  /** What relative paths are relative to. */
  base: PlainPath | undefined;
}

/** The folders of an `inside` and its `base`, in their plain form. */
export function readInside(given: JsonObject, path: string, reading: Reading): Inside {
  const base = given.base === undefined ? undefined : readBase(given.base, pointTo(path, "base"), reading);
  const folders = reading.list(given.inside, pointTo(path, "inside"), (item, at) => {
    const text = reading.text(item, at, MAX_FOLDER);
    if (text === undefined) return undefined;
    const suggestion = "such as /srv/data; no .. that leads out of its base";
    return readPath(text, base) ?? reading.wrong(at, "is not a plain path", suggestion);
  });
  return { folders, base };
}

function readBase(base: JsonValue, path: string, reading: Reading): PlainPath | undefined {
  const read = typeof base === "string" && base.startsWith("/") ? readPath(base) : undefined;
  return read ?? reading.wrong(path, "must be an absolute path");
}

/** Whether a path is in one of the folders. */
export function insideTest({ folders, base }: Inside, reading: Reading): TextJudge {
  const { readPath: read } = reading;
  return (text) => {
    const plain = read(text, base);
    return plain === undefined ? UNSURE : anyOf(folders, (folder) => pathInside(plain, folder));
  };
}

/** The hosts of a `hostIn`. */
export function readHosts(wanted: unknown, path: string, reading: Reading): Hosts[] {
  return reading.list(wanted, path, (item, at) => {
    const text = reading.text(item, at);
    if (text === undefined) return undefined;
    const suggestion = "such as example.com, *.example.com or example.com:443";
    return readHostPattern(text) ?? reading.wrong(at, "is not a host", suggestion);
  });
}

/** Whether a URL or host is one of the allowed. */
export function hostTest(allowed: readonly Hosts[], reading: Reading): TextJudge {
  const { readHost } = reading;
  return (text) => {
    const host = readHost(text);
    return host === undefined ? UNSURE : anyOf(allowed, (hosts) => hostsWithin(host, hosts));
  };
}
