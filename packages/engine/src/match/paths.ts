import { NO, type Truth, UNSURE, YES } from "./truth.ts";

const MAX_PATH = 4_096;
/** Control characters, backslashes (a separator to some programs), a home folder or a scheme at the start. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is for
const NOT_PLAIN = /[\u0000-\u001f\u007f\\]|^~|^[A-Za-z][A-Za-z0-9+.-]*:/;

/**
 * A path in its one spelling: `/a/b`, or `a/b` for one relative to a base nobody has named (the base itself is "").
 * Worked out from the text alone: where links lead is the sandbox's business.
 */
export type PlainPath = string & { readonly plain: true };

/** The plain form; undefined when it cannot be told where the path leads, as for one that climbs out of its base. */
export function readPath(text: string, base?: PlainPath): PlainPath | undefined {
  if (text === "" || text.length > MAX_PATH || NOT_PLAIN.test(text)) return undefined;
  const absolute = text.startsWith("/");
  const segments = climb(text, absolute);
  if (segments === undefined) return undefined;
  if (absolute) return plain(`/${segments.join("/")}`);
  const below = segments.join("/");
  if (base === undefined || below === "") return plain(base ?? below);
  return plain(base.endsWith("/") || base === "" ? `${base}${below}` : `${base}/${below}`);
}

/** Above the root there is only the root; above a base is somewhere else. */
function climb(text: string, absolute: boolean): string[] | undefined {
  const segments: string[] = [];
  for (const segment of text.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined && !absolute) return undefined;
  }
  return segments;
}

function plain(text: string): PlainPath {
  return text as PlainPath;
}

/** Whether a path is a folder or something in it, segment by segment; in doubt when only one of them is absolute. */
export function pathInside(path: PlainPath, folder: PlainPath): Truth {
  if (path.startsWith("/") !== folder.startsWith("/")) return UNSURE;
  if (path === folder || folder === "/" || folder === "") return YES;
  return path.startsWith(folder) && path[folder.length] === "/" ? YES : NO;
}

/** Whether everything in one folder is inside another: in doubt when only some of it is. */
export function folderWithin(inner: PlainPath, outer: PlainPath): Truth {
  const inside = pathInside(inner, outer);
  return inside === NO && pathInside(outer, inner) === YES ? UNSURE : inside;
}
