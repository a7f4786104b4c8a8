import { type PlainPath, pathInside, readPath } from "../../match/paths.ts";
import { matchesAny } from "../../match/patterns.ts";
import { YES } from "../../match/truth.ts";

const DOT = /(?:^|[/\\])(?:\.|%2e){1,2}(?:$|[/\\])/i;
const ENCODED_SEPARATOR = /%2f|%5c/gi;

/**
 * Whether a resource lies within globs, where `*` stands for any run of characters. None means everything. A resource
 * with `.` or `..` between its slashes lies within nothing that is named: where it leads cannot be told from its text.
 */
export function coversResource(globs: readonly string[], resource: string | undefined): boolean {
  if (globs.length === 0) return true;
  return resource !== undefined && !hasDotSegments(resource) && matchesAny(globs, resource);
}

/**
 * Whether every resource of one glob lies within the others. The inner glob is matched as if it were a text: its own
 * `*` can then only be covered by a `*` of the outer one, so a yes is certain; a no may be too careful.
 */
export function includesGlob(outer: readonly string[], inner: string): boolean {
  return coversResource(outer, inner);
}

export function hasDotSegments(resource: string): boolean {
  return DOT.test(resource.replace(ENCODED_SEPARATOR, "/"));
}

/** Whether a path is one of the folders or lies below one, by its text alone. Links are the sandbox's business. */
export function isInside(folders: readonly string[], path: string): boolean {
  const inner = placeOf(path);
  return folders.some((folder) => {
    const outer = placeOf(folder);
    return inner !== undefined && outer !== undefined && pathInside(inner, outer) === YES;
  });
}

/** Percent signs may be read as other characters further on, and `..` may follow a link: nobody can tell where they lead. */
const UNCERTAIN = /%(?:2e|2f|5c|25)|(?:^|\/)\.\.(?:\/|$)/i;

function placeOf(path: string): PlainPath | undefined {
  return UNCERTAIN.test(path) ? undefined : readPath(path);
}

/** The host a network resource is about, in lower case: of a URL, `host:port` or a bare host. */
export function hostOf(resource: string): string | undefined {
  const text = resource.includes("://") ? resource : `tcp://${resource}`;
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return undefined;
  const host = url.hostname.toLowerCase().replace(/\.$/, "");
  return host === "" ? undefined : host;
}
