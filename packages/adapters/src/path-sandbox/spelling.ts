import { posix, win32 } from "node:path";
import type { Failure } from "@sallyport/protocol";
import { badPath, outside } from "./refusals.ts";

const MOST_BYTES = 4_096;
const MOST_NAME_BYTES = 255;
/** Patterns are asked about every folder on the way, so the way is bounded too. */
const MOST_NAMES = 256;
/** C0, DEL, C1, and what turns the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is for
const REFUSED = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
/** Windows: streams, wildcards, names of devices, and the endings it drops from a name. */
const NO_WINDOWS_NAME = /[<>:"|?*]|[. ]$|^(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(?:\.|$)/i;
const DEVICE_SPACE = /^[\\/]{2}[.?](?:[\\/]|$)/;

/** What decides how a path is read before anything is looked up. */
export interface SpellingRules {
  allowAbsolute: boolean;
  windows: boolean;
}

/** The refusals that need only the text: no path at all (E3901), absolute, or with `..` (E3955). In this order. */
export function spellingRefusal(path: string, rules: SpellingRules): Failure | undefined {
  const names = namesOf(path, rules);
  return (
    notAPath(path) ?? tooLong(path, names) ?? misplaced(path, names, rules) ?? noWindowsName(path, rules)
  );
}

function notAPath(path: string): Failure | undefined {
  if (typeof path !== "string" || path.trim() === "")
    return badPath(
      String(path),
      "is blank",
      'Give the path of a file or folder, or "." for the working folder.',
    );
  if (!path.isWellFormed())
    return badPath(path, "holds half a character", "Write the path in well-formed Unicode.");
  if (REFUSED.test(path))
    return badPath(path, "holds a control character", "Leave out control and text-direction characters.");
  return undefined;
}

function tooLong(path: string, names: readonly string[]): Failure | undefined {
  if (Buffer.byteLength(path) > MOST_BYTES)
    return badPath(path, `is longer than ${MOST_BYTES} bytes`, "Use a shorter path.");
  if (names.some((name) => Buffer.byteLength(name) > MOST_NAME_BYTES))
    return badPath(path, `has a name longer than ${MOST_NAME_BYTES} bytes`, "Use shorter names.");
  if (names.length > MOST_NAMES)
    return badPath(path, `has more than ${MOST_NAMES} names`, "Use a path with fewer folders.");
  return undefined;
}

function misplaced(path: string, names: readonly string[], rules: SpellingRules): Failure | undefined {
  if (!rules.allowAbsolute && isAbsolute(path, rules))
    return outside(path, "is absolute", { advice: "Use a path relative to the working folder." });
  if (names.includes(".."))
    return outside(path, 'has ".." in it', { advice: 'Use a path without "..", from the working folder.' });
  return undefined;
}

/** A drive without a slash (`C:x`) is a place of its own too, though Node calls it relative. */
function isAbsolute(path: string, { windows }: SpellingRules): boolean {
  if (!windows) return posix.isAbsolute(path);
  return win32.isAbsolute(path) || /^[A-Za-z]:/.test(path);
}

function noWindowsName(path: string, rules: SpellingRules): Failure | undefined {
  if (!rules.windows) return undefined;
  if (DEVICE_SPACE.test(path)) return outside(path, "names a device");
  const below = path.slice(win32.parse(path).root.length);
  const odd = namesOf(below, rules).some((name) => name !== "." && NO_WINDOWS_NAME.test(name));
  return odd ? badPath(path, "has a name that Windows reads otherwise", "Use plain names.") : undefined;
}

function namesOf(path: string, { windows }: SpellingRules): string[] {
  return String(path)
    .split(windows ? /[\\/]+/ : /\/+/)
    .filter((name) => name !== "");
}
