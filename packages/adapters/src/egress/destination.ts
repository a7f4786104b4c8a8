import { isIP } from "node:net";
import { readHost } from "@sallyport/engine/host";

/** Where a client wants to go, in the one spelling that rules, DNS and upstream all see. */
export interface Destination {
  /** Lower case, punycode, dotted IPv4, bracketed IPv6, no dot at the end. */
  name: string;
  port: number;
  /** The address itself when the client asked for one, without brackets. */
  address: string | undefined;
}

/** What URL parsers read differently from one another, and nothing a host needs. */
const UNWANTED = /[/?#@\\%\s]/;
const AUTHORITY = /^(.+):(\d{1,5})$/;
const LONGEST_NAME = 253;
const LONGEST_LABEL = 63;

/** `host:port`, as CONNECT has it; undefined when it is not exactly that. */
export function readTarget(authority: string): Destination | undefined {
  const [, host, port] = AUTHORITY.exec(authority) ?? [];
  // `::1:443` may be a host and a port, or an address.
  if (host === undefined || (host.includes(":") && !host.startsWith("["))) return undefined;
  return readDestination(host, Number(port));
}

/** An authority whose port may be left out, as in a Host header or a URL. */
export function readAuthority(authority: string, defaultPort: number): Destination | undefined {
  return AUTHORITY.test(authority) && !isIP(authority)
    ? readTarget(authority)
    : readDestination(authority, defaultPort);
}

/** A host without a port, and a port; undefined when it names no host, or programs would disagree which. */
export function readDestination(host: string, port: number): Destination | undefined {
  if (UNWANTED.test(host) || host.startsWith("*") || !isPort(port)) return undefined;
  const read = readHost(host);
  if (read === undefined || read.port !== undefined || !isSpeakable(read.name)) return undefined;
  const bare = read.name.replace(/^\[|\]$/g, "");
  return { name: read.name, port, address: isIP(bare) ? bare : undefined };
}

/** Whether both lead to the same port of the same host. */
export function isSame(one: Destination, other: Destination): boolean {
  return one.name === other.name && one.port === other.port;
}

/** As a Host header has it: the port only when it is not the scheme's own. */
export function writeAuthority({ name, port }: Destination, defaultPort: number): string {
  return port === defaultPort ? name : `${name}:${port}`;
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

function isSpeakable(name: string): boolean {
  return name.length <= LONGEST_NAME && name.split(".").every(isLabel);
}

function isLabel(label: string): boolean {
  return label.length > 0 && (label.length <= LONGEST_LABEL || label.startsWith("["));
}
