import { NO, type Truth, UNSURE, YES } from "./truth.ts";

/**
 * One host, or a set of them: `exact` is a host, `below` every host under a name but not the name itself, `any` all.
 * The name is in its one spelling: lower case, punycode, dotted IPv4, bracketed IPv6, no dot at the end.
 */
export interface Hosts {
  kind: "exact" | "below" | "any";
  name: string;
  /** Undefined: any port, or one that was not said. */
  port: number | undefined;
}

const MAX_TEXT = 8_192;
const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  http: 80,
  ws: 80,
  https: 443,
  wss: 443,
  ftp: 21,
};
const URL_LIKE = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?\/\/([^/?#]*)/;
const PORT = /:(\d{1,5})$/;
const MAPPED_IPV4 = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;
/** What programs read differently inside the host of a URL. */
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
  const port = PORT.exec(text);
  if (text === "*" || (port && port.index === 1 && text.startsWith("*"))) return anyHost(port?.[1]);
  if (!text.startsWith("*.")) return readHost(text);
  const below = readHost(text.slice(2));
  return below && !isAddress(below.name) ? { ...below, kind: "below" } : undefined;
}

function anyHost(port: string | undefined): Hosts | undefined {
  if (port === undefined) return { kind: "any", name: "", port: undefined };
  return Number(port) <= 65_535 ? { kind: "any", name: "", port: Number(port) } : undefined;
}

function readAuthority(authority: string, defaultPort: number | undefined): Hosts | undefined {
  const at = authority.indexOf("@");
  if (at !== authority.lastIndexOf("@") || authority.includes("\\")) return undefined;
  const hostAndPort = authority.slice(at + 1);
  if (isBareIpv6(hostAndPort)) return exactHost(`[${hostAndPort}]`, defaultPort);
  const port = PORT.exec(hostAndPort);
  if (port === null) return exactHost(hostAndPort, defaultPort);
  return Number(port[1]) > 65_535 ? undefined : exactHost(hostAndPort.slice(0, port.index), Number(port[1]));
}

function isBareIpv6(text: string): boolean {
  return /^[0-9A-Fa-f:.]+$/.test(text) && text.indexOf(":") !== text.lastIndexOf(":");
}

function exactHost(host: string, port: number | undefined): Hosts | undefined {
  if (host === "" || DISPUTED.test(host) || (host.includes(":") && !host.startsWith("["))) return undefined;
  const spelt = URL.parse(`http://${host}/`)?.hostname;
  if (spelt === undefined || spelt === "") return undefined;
  const name = spelt.endsWith(".") ? spelt.slice(0, -1) : spelt;
  return name === "" || name.endsWith(".") ? undefined : { kind: "exact", name: unmapped(name), port };
}

/** An IPv4 address in IPv6 clothes is the same machine. */
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

/** By names alone. */
function covers(outer: Hosts, inner: Hosts): boolean {
  if (outer.kind === "any") return true;
  if (inner.kind === "any") return false;
  if (outer.kind === "exact") return inner.kind === "exact" && inner.name === outer.name;
  return inner.name.endsWith(`.${outer.name}`) || (inner.kind === "below" && inner.name === outer.name);
}
