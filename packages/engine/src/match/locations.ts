import { NO, type Truth, UNSURE, YES } from "./truth.ts";

const MAX_PATH = 4_096;
/** Control characters, backslashes (a separator to some programs), a home folder or a scheme at the start. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is for
const NOT_PLAIN = /[\u0000-\u001f\u007f\\]|^~|^[A-Za-z][A-Za-z0-9+.-]*:/;

/**
 * A path in its one spelling: `/a/b`, or `a/b` for one relative to a base that is not known (the base itself is "").
 * Worked out from the text alone: the sandbox follows links.
 */
export type PlainPath = string & { readonly plain: true };

/** The plain form; undefined when the text does not say where the path leads, as when it climbs out of its base. */
export function readPath(text: string, base?: PlainPath): PlainPath | undefined {
  if (text === "" || text.length > MAX_PATH || NOT_PLAIN.test(text)) return undefined;
  const isAbsolute = text.startsWith("/");
  const below = climb(text, isAbsolute)?.join("/");
  if (below === undefined) return undefined;
  if (isAbsolute) return `/${below}` as PlainPath;
  if (base === undefined || base === "") return below as PlainPath;
  return (below === "" ? base : `${base.endsWith("/") ? base : `${base}/`}${below}`) as PlainPath;
}

/** `..` at the root stays at the root. A relative path that climbs out of its base has no plain form. */
function climb(text: string, isAbsolute: boolean): string[] | undefined {
  const segments: string[] = [];
  for (const segment of text.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined && !isAbsolute) return undefined;
  }
  return segments;
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

/**
 * One host, or a set of them: `exact` is a host, `below` every host under a name but not the name itself, `any` all.
 * The name is in its one spelling: lower case, punycode, dotted IPv4, bracketed IPv6, no dot at the end.
 */
export interface Hosts {
  kind: "exact" | "below" | "any";
  name: string;
  /** Undefined: any port, or a port that is not given. */
  port: number | undefined;
}

const MAX_TEXT = 8_192;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, ws: 80, https: 443, wss: 443, ftp: 21 };
const URL_LIKE = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?\/\/([^/?#]*)/;
const MAPPED_IPV4 = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;
/** Characters in a host that programs read differently. */
const DISPUTED = /[\\%*\s]/;

/**
 * The host a text leads to: a URL, or a host with or without a port. Undefined when programs would disagree about it
 * (backslashes, percent signs, control characters, two `@`), or when it names none.
 */
export function readHost(text: string): Hosts | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: some parsers drop them before they look
  if (text.length > MAX_TEXT || /[\u0000-\u001f\u007f]/.test(text)) return undefined;
  const url = URL_LIKE.exec(text);
  if (url === null) return readAuthority(text.split(/[/?#]/, 1)[0] ?? "", undefined);
  const [, scheme, authority = ""] = url;
  return readAuthority(authority, DEFAULT_PORTS[scheme?.toLowerCase() ?? ""]);
}

/** `*`, `*.example.com` or a host, each with or without a port; undefined when it is none of these. */
export function readHostPattern(text: string): Hosts | undefined {
  if (text.includes("/") || text.includes("@")) return undefined;
  const split = splitPort(text);
  if (split?.host === "*") return { kind: "any", name: "", port: split.port };
  if (!text.startsWith("*.")) return readHost(text);
  const below = readHost(text.slice(2));
  return below && !isAddress(below.name) ? { ...below, kind: "below" } : undefined;
}

function readAuthority(authority: string, defaultPort: number | undefined): Hosts | undefined {
  const at = authority.indexOf("@");
  if (at !== authority.lastIndexOf("@") || authority.includes("\\")) return undefined;
  const hostAndPort = authority.slice(at + 1);
  if (isBareIpv6(hostAndPort)) return exactHost(`[${hostAndPort}]`, defaultPort);
  const split = splitPort(hostAndPort);
  return split && exactHost(split.host, split.port ?? defaultPort);
}

function isBareIpv6(text: string): boolean {
  return /^[0-9A-Fa-f:.]+$/.test(text) && text.indexOf(":") !== text.lastIndexOf(":");
}

/** Undefined when the number after the colon is no port. */
function splitPort(text: string): { host: string; port: number | undefined } | undefined {
  const port = /:(\d{1,5})$/.exec(text);
  if (port === null) return { host: text, port: undefined };
  return Number(port[1]) > 65_535 ? undefined : { host: text.slice(0, port.index), port: Number(port[1]) };
}

function exactHost(host: string, port: number | undefined): Hosts | undefined {
  if (host === "" || DISPUTED.test(host) || (host.includes(":") && !host.startsWith("["))) return undefined;
  const name = URL.parse(`http://${host}/`)?.hostname.replace(/\.$/, "") ?? "";
  return name === "" || name.endsWith(".") ? undefined : { kind: "exact", name: unmapped(name), port };
}

/** An IPv4 address mapped into IPv6 is the same machine. */
function unmapped(name: string): string {
  const mapped = MAPPED_IPV4.exec(name);
  if (!mapped) return name;
  const bits = Number.parseInt(mapped[1] ?? "0", 16) * 65_536 + Number.parseInt(mapped[2] ?? "0", 16);
  return [24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256).join(".");
}

function isAddress(name: string): boolean {
  return name.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(name);
}

/** Whether all of `inner` is in `outer`: in doubt when only some of it is, as when one leaves the port open. */
export function hostsWithin(inner: Hosts, outer: Hosts): Truth {
  if (inner.port !== undefined && outer.port !== undefined && inner.port !== outer.port) return NO;
  if (covers(outer, inner)) return inner.port === undefined && outer.port !== undefined ? UNSURE : YES;
  return covers(inner, outer) ? UNSURE : NO;
}

/** Compares names only, not ports. */
function covers(outer: Hosts, inner: Hosts): boolean {
  if (outer.kind === "any") return true;
  if (inner.kind === "any") return false;
  if (outer.kind === "exact") return inner.kind === "exact" && inner.name === outer.name;
  return inner.name.endsWith(`.${outer.name}`) || (inner.kind === "below" && inner.name === outer.name);
}
