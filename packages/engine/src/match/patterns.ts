import { readHost, readPath } from "./locations.ts";
import { NO, type Truth, UNSURE, YES } from "./truth.ts";

/** Whether a name equals one of the patterns, where `*` stands for any run of characters. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some(
    (pattern) => pattern === name || (pattern.includes("*") && matchesParts(pattern.split("*"), name)),
  );
}

/** `matchesAny` for patterns that are asked about often: the patterns are split once. */
export function compilePatterns(patterns: readonly string[]): (name: string) => boolean {
  if (patterns.includes("*")) return () => true;
  const exact = new Set(patterns.filter((pattern) => !pattern.includes("*")));
  const open = patterns.filter((pattern) => pattern.includes("*")).map((pattern) => pattern.split("*"));
  if (open.length === 0) return (name) => exact.has(name);
  return (name) => exact.has(name) || open.some((parts) => matchesParts(parts, name));
}

/** `parts` stand between the stars of a pattern. Linear in the name for each part. */
function matchesParts(parts: readonly string[], name: string): boolean {
  const [first = ""] = parts;
  const last = parts.at(-1) ?? "";
  const end = name.length - last.length;
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (let index = 1; index < parts.length - 1; index += 1) {
    const part = parts[index] ?? "";
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: some parsers drop them before they look
const CONTROL = /[\u0000-\u001f\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what URL parsers drop before the scheme
const BEFORE = /^[\u0000-\u0020]+/;
/** Clients take these for URLs; of the special schemes also without slashes. */
const URL_LIKE = /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:https?|wss?|ftp|file):)/i;
/** A segment that some readers take for `.` or `..`, also when a path parameter or a control character follows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is for
const DOT = /(?:^|[/\\])\.{1,2}(?:[;\u0000-\u001f\u007f][^/\\]*| +)?(?:$|[/\\?#])/;
/** Scheme and host of a URL, and the rest of it. */
const PARTS = /^([^/?#]*:\/\/[^/?#]*)(.*)$/s;
/** A text that is percent-encoded more often than this hides something. */
const MAX_DECODINGS = 8;

/** Whether clients take a text for a URL. */
export function isUrlLike(text: string): boolean {
  return URL_LIKE.test(text.replace(/[\t\n\r]/g, "").replace(BEFORE, ""));
}

/** Whether some reader finds `.` or `..` between the slashes of a text, percent-encoded once or more. */
export function hasDotSegments(text: string): boolean {
  const plain = decoded(text);
  return plain === undefined || DOT.test(plain);
}

/** The text after decoding until nothing changes; undefined when that takes more than eight rounds. */
function decoded(text: string): string | undefined {
  let plain = text;
  for (let round = 0; round < MAX_DECODINGS; round += 1) {
    const next = plain.replace(/%(?:25)*([0-7][0-9a-f])/gi, (_, code) => characterOf(code));
    if (next === plain) return plain;
    plain = next;
  }
  return undefined;
}

function characterOf(code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16));
}

/** White space that a reader may trim: around the URL, or before its path, query or fragment. */
const CUT_SPACE = /^\s|\s(?:[/?#]|$)/;

/** The spellings that different readers may see in one text, and whether they disagree. */
interface Readings {
  texts: string[];
  disputed: boolean;
}

/** A URL is what a client would request (WHATWG); a path has no repeated separators. */
function readingsOf(text: string): Readings {
  const hidden = CONTROL.test(text) || hasDotSegments(text);
  if (!isUrlLike(text)) {
    const isPath = text.startsWith("/");
    const single = isPath ? text.replace(/\/{2,}/g, "/") : undefined;
    const climbed = hidden ? readPath(text) : undefined;
    return { texts: unique([text, single, climbed]), disputed: hidden || (isPath && text.includes("\\")) };
  }
  const url = URL.parse(text);
  const isPlain = url !== null && !url.username && !url.password && !url.host.includes("%");
  if (isPlain && !hidden && !CUT_SPACE.test(text) && !text.includes("\\")) {
    return { texts: [spelt(url)], disputed: false };
  }
  const texts = [text, speltUrl(text), speltUrl(decoded(text) ?? text)];
  return { texts: unique(texts), disputed: true };
}

function unique(texts: (string | undefined)[]): string[] {
  return [...new Set(texts.filter((text) => text !== undefined))];
}

/**
 * Whether a test holds for a text, for every reader of it: in doubt when readers disagree about what the text names. When
 * the test fails but a lenient server would serve a resource for which `holdsServed` is true, the answer is in doubt too.
 */
export function judgeReadings(
  text: string,
  holds: (reading: string) => boolean,
  holdsServed: (served: string) => boolean = holds,
): Truth {
  const { texts, disputed } = readingsOf(text);
  const held = texts.filter(holds).length;
  if (held === texts.length && !disputed) return YES;
  if (held > 0) return UNSURE;
  const served = asServed(text);
  return served === undefined || holdsServed(served) ? UNSURE : NO;
}

/**
 * Whether a URL, a path or another text matches one of the patterns, where `*` stands for any run of characters. In the
 * host of a URL it stands for characters of the host alone.
 */
export function compileResources(patterns: readonly string[]): (text: string) => Truth {
  const matches = compileGlobs(unique([...patterns, ...patterns.map(speltUrl)]));
  const matchesServed = compileGlobs(unique(patterns.map(asServed)));
  return (text) => judgeReadings(text, matches, matchesServed);
}

function compileGlobs(patterns: readonly string[]): (text: string) => boolean {
  const isOpen = (pattern: string) => PARTS.exec(pattern)?.[1]?.includes("*") === true;
  const matches = compilePatterns(patterns.filter((pattern) => !isOpen(pattern)));
  const open = patterns.filter(isOpen).map((pattern) => {
    const [, host = "", rest = ""] = PARTS.exec(pattern) ?? [];
    return {
      host: compilePatterns([host]),
      rest: compilePatterns([rest === "" && host.endsWith("*") ? "*" : rest]),
    };
  });
  if (open.length === 0) return matches;
  return (text) => {
    const [, host, rest = ""] = PARTS.exec(text) ?? [];
    if (host !== undefined && open.some((glob) => glob.host(host) && glob.rest(rest))) return true;
    return matches(text);
  };
}

/** A URL in its one spelling; undefined when the text is none. */
export function speltUrl(text: string): string | undefined {
  const url = isUrlLike(text) ? URL.parse(text) : null;
  return url === null ? undefined : spelt(url);
}

/** As clients spell it, with one spelling for hosts, and nothing percent-encoded that needs not be (RFC 3986, 6.2.2). */
function spelt(url: URL): string {
  const name = readHost(url.host)?.name;
  const port = url.port === "" ? "" : `:${url.port}`;
  const host = name === undefined ? url.host.toLowerCase() : `${name}${port}`;
  const isBare = url.host !== "" && !url.username && !url.password;
  const href = isBare ? url.href.replace(`//${url.host}`, () => `//${host}`) : url.href;
  return href.replace(/%([0-9a-f]{2})/gi, (encoded, code) => {
    const character = characterOf(code);
    return /[\w.~-]/.test(character) ? character : encoded.toUpperCase();
  });
}

/**
 * A text as the most lenient server reads it: everything decoded, repeated slashes and path parameters dropped, a file's
 * URL as its path. Undefined when the text cannot be decoded.
 */
function asServed(text: string): string | undefined {
  const url = speltUrl(text);
  if (url === undefined) return text;
  const [, host = "", rest = ""] = PARTS.exec(url) ?? [];
  const path = decoded(rest)
    ?.replaceAll("\\", "/")
    .replace(/;[^/?#]*/g, "")
    .replace(/\/{2,}/g, "/");
  return path === undefined ? undefined : `${host === "file://" ? "" : host}${path}`;
}
