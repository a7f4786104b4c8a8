import type { IncomingMessage } from "node:http";
import { type Denial, malformed, quoted } from "./denial.ts";
import { type Destination, isSame, readAuthority, readTarget } from "./destination.ts";
import { valuesOf } from "./headers.ts";

/** The parts of a parsed request that say where it goes and how its body is framed. */
export type RequestHead = Pick<IncomingMessage, "method" | "url" | "httpVersion" | "rawHeaders">;

/** A request that leaves no doubt about where it goes. */
export interface ReadRequest {
  to: Destination;
  /** Path and query, as they came. */
  path: string;
  /** How the body is framed, as headers. */
  frame: string[];
}

const MOST_HEADERS = 256;
const HTTP_PORT = 80;
const HTTPS_PORT = 443;
const ABSOLUTE = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(\/[^#]*|\?[^#]*|)$/i;
const WITH_BODY = new Set(["POST", "PUT", "PATCH"]);

/** A request to forward in plain: the whole URL is in its first line, and Host says the same. */
export function readForward(head: RequestHead): ReadRequest | Denial {
  const [, scheme, authority = "", path = ""] = ABSOLUTE.exec(head.url ?? "") ?? [];
  if (scheme === undefined)
    return malformed("This is a proxy: a request must have the whole URL in its first line.");
  if (scheme.toLowerCase() !== "http")
    return malformed(`${quoted(scheme)} URLs cannot be forwarded; use CONNECT for https.`);
  const to = readAuthority(authority, HTTP_PORT);
  if (!to) return malformed(`${quoted(authority)} is not a host.`);
  return readFor(head, { to, path: path.startsWith("/") ? path : `/${path}`, port: HTTP_PORT });
}

/** A request inside an intercepted connection: it can only be for the host of that connection. */
export function readBound(head: RequestHead, to: Destination): ReadRequest | Denial {
  const path = head.url ?? "";
  if (!path.startsWith("/") || path.includes("#"))
    return malformed("A request in a tunnel must have a path in its first line.");
  return readFor(head, { to, path, port: HTTPS_PORT });
}

/** Where CONNECT leads. */
export function readConnect(head: RequestHead): Destination | Denial {
  const to = readTarget(head.url ?? "");
  if (!to) return malformed(`${quoted(head.url ?? "")} is not a host and a port.`);
  const unfit = headUnfit(head);
  if (unfit) return unfit;
  if (hasHeader(head, "content-length") || hasHeader(head, "transfer-encoding"))
    return malformed("CONNECT has no body.");
  const [host] = valuesOf(head.rawHeaders, "host");
  const said = host === undefined || host === "" ? to : readAuthority(host, to.port);
  return said?.name === to.name ? to : malformed("The Host header names another host than the request.");
}

interface Said {
  to: Destination;
  path: string;
  /** The scheme's own. */
  port: number;
}

function readFor(head: RequestHead, { to, path, port }: Said): ReadRequest | Denial {
  const unfit = headUnfit(head) ?? methodUnfit(head);
  if (unfit) return unfit;
  const [host] = valuesOf(head.rawHeaders, "host");
  const said = host === undefined ? to : readAuthority(host, port);
  if (!said || !isSame(said, to)) return malformed("The Host header names another host than the request.");
  const frame = readFrame(head);
  return Array.isArray(frame) ? { to, path, frame } : frame;
}

function headUnfit({ httpVersion, rawHeaders }: RequestHead): Denial | undefined {
  // Node's bound on a head's size does not count what is between names and values.
  if (rawHeaders.length > MOST_HEADERS * 2) return malformed("The request has too many headers.", 431);
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return malformed("Only HTTP/1.1 is spoken here.", 505);
  const hosts = valuesOf(rawHeaders, "host").length;
  if (hosts > 1) return malformed("A request has one Host header.");
  return undefined;
}

/** TRACE sends back what it was sent, and with it a credential that was added on the way. */
function methodUnfit({ method }: RequestHead): Denial | undefined {
  return method === "TRACE" ? malformed("TRACE is not forwarded.", 405) : undefined;
}

function readFrame({ method = "", httpVersion, rawHeaders }: RequestHead): string[] | Denial {
  const codings = valuesOf(rawHeaders, "transfer-encoding");
  const lengths = valuesOf(rawHeaders, "content-length");
  if (codings.length + lengths.length > 1) return malformed("A body is framed in one way.");
  const [length] = lengths;
  if (length !== undefined) return /^\d{1,15}$/.test(length) ? ["content-length", length] : unframed();
  const [coding] = codings;
  if (coding === undefined) return WITH_BODY.has(method) ? ["content-length", "0"] : [];
  const isChunked = coding.toLowerCase() === "chunked" && httpVersion === "1.1";
  return isChunked ? ["transfer-encoding", "chunked"] : unframed();
}

function unframed(): Denial {
  return malformed("This framing of a body cannot be forwarded.", 501);
}

function hasHeader({ rawHeaders }: RequestHead, name: string): boolean {
  return valuesOf(rawHeaders, name).length > 0;
}
