import { type IncomingMessage, validateHeaderValue } from "node:http";
import type { EgressCredential, SecretSource } from "@sallyport/engine/ports";
import { type Denial, forbidden, isDenial, unreached } from "./denial.ts";
import { writeAuthority } from "./destination.ts";
import type { Admission, Way } from "./gate.ts";
import { endToEnd } from "./headers.ts";
import type { Lane } from "./lane.ts";
import { beyondLimits, type Parts } from "./parts.ts";
import { type ReadRequest, readBound, readForward } from "./read-request.ts";
import { Scrub } from "./scrub.ts";
import { connectUpstream, type Upstream } from "./upstream.ts";

/** A header that carries a secret. It goes upstream and nowhere else. */
interface CredentialHeader {
  name: string;
  value: string;
  /** Keeps it out of the answer. */
  scrub: Scrub;
}

/** The header's name, in lower case: whatever the client sent under it is replaced. */
function credentialName({ as }: EgressCredential): string {
  return "basic" in as ? "authorization" : as.header.toLowerCase();
}

/** Refuses to send a secret in the clear, unless the operator said so and the addresses are private (D-16). */
function exposed({ rule, to, addresses }: Way, secure: boolean): Denial | undefined {
  if (!rule.credential || secure) return undefined;
  const { plainHttp } = rule.credential;
  if (plainHttp === true && rule.allowPrivate === true && addresses.every(({ kind }) => kind !== "public"))
    return undefined;
  return forbidden(
    to,
    `${to.name}:${to.port} gets a credential, which is not sent over plain HTTP.`,
    "Use https, with `intercept` on the credential. For a private host without TLS set its `plainHttp`.",
  );
}

/** Asks for the secret now and makes the header of it. What the source says on failure is kept to itself. */
async function credentialFor(
  { rule, to }: Way,
  secrets: SecretSource | undefined,
): Promise<CredentialHeader | Denial | undefined> {
  const { credential } = rule;
  if (!credential) return undefined;
  const secret = await ask(secrets, credential.secret);
  const value = secret === undefined ? undefined : written(credential, secret);
  if (secret !== undefined && value !== undefined)
    return { name: credentialName(credential), value, scrub: new Scrub(secret, value) };
  const message = `The credential for ${to.name}:${to.port} could not be had; nothing was sent.`;
  return unreached(to, "E3301", { message });
}

/** Undefined when there is none or it cannot be read: for the client both are the same. */
async function ask(secrets: SecretSource | undefined, name: string): Promise<string | undefined> {
  try {
    const secret = await secrets?.get(name);
    return secret === "" ? undefined : secret;
  } catch {
    return undefined;
  }
}

/** Undefined when the secret does not fit into a header. */
function written({ as }: EgressCredential, secret: string): string | undefined {
  if ("basic" in as) return `Basic ${Buffer.from(`${as.basic.user}:${secret}`).toString("base64")}`;
  const value = as.value.replaceAll("{secret}", () => secret);
  try {
    validateHeaderValue(as.header, value);
    return value;
  } catch {
    return undefined;
  }
}

/** A request that may go, with the connection it goes over. Its headers may hold a secret. */
export interface Prepared {
  upstream: Upstream;
  path: string;
  headers: string[];
  hasBody: boolean;
  /** Present when a secret goes along: the answer must not hold it. */
  scrub: Scrub | undefined;
}

/** Rewritten here, whatever the client sent. */
const REWRITTEN = ["host", "content-length", "expect"];
/** Where a secret goes along, the answer must be readable here: no compression. */
const READABLE = ["accept-encoding", "sec-websocket-extensions"];

/** By which a client could get the answer, and a secret in it, piece by piece. */
const PARTS = ["range", "if-range"];

/** Checks a request, connects, and only then asks for its credential. */
export async function prepare(parts: Parts, lane: Lane, req: IncomingMessage): Promise<Prepared | Denial> {
  const asked = lane.bound ? readBound(req, lane.bound.to) : readForward(req);
  if (isDenial(asked)) return asked;
  const admission = beyondLimits(parts, lane, asked.to) ?? lane.bound ?? parts.gate.admit(asked.to);
  if (isDenial(admission)) return admission;
  const upstream = await upstreamFor(parts, lane, admission);
  if (isDenial(upstream)) return upstream;
  const credential = await credentialFor(upstream.way, parts.secrets);
  if (credential && isDenial(credential)) return credential;
  const added = credential ? [credential.name, credential.value, "accept-encoding", "identity"] : [];
  const headers = [...headersFor(req, asked, upstream), ...added];
  return { upstream, path: asked.path, headers, hasBody: hasBody(asked.frame), scrub: credential?.scrub };
}

function headersFor(req: IncomingMessage, { to, frame }: ReadRequest, upstream: Upstream): string[] {
  const { credential } = upstream.way.rule;
  const hidden = credential?.ranges === true ? READABLE : [...READABLE, ...PARTS];
  const replaced = credential ? [...REWRITTEN, ...hidden, credentialName(credential)] : REWRITTEN;
  const host = writeAuthority(to, upstream.secure ? 443 : 80);
  return ["host", host, ...endToEnd(req.rawHeaders, replaced), ...frame];
}

function hasBody([name, value]: readonly string[]): boolean {
  return name !== undefined && value !== "0";
}

/** The lane's last connection when it leads there, otherwise a new one; never two. */
async function upstreamFor(parts: Parts, lane: Lane, admission: Admission): Promise<Upstream | Denial> {
  const isSecure = lane.bound !== undefined;
  if (lane.upstream?.isFreeFor(admission.to, isSecure)) return lane.upstream;
  lane.upstream?.close();
  lane.upstream = undefined;
  const way = await parts.gate.wayTo(admission);
  if (isDenial(way)) return way;
  const refused = exposed(way, isSecure);
  if (refused) return refused;
  const upstream = await connectUpstream(way, parts.dialler, isSecure ? parts.tls : undefined);
  return isDenial(upstream) ? upstream : keep(lane, upstream);
}

function keep(lane: Lane, upstream: Upstream): Upstream | Denial {
  if (lane.socket.destroyed) {
    upstream.close();
    return unreached(upstream.way.to, "E3304", { message: "The client went away." });
  }
  lane.upstream = upstream;
  return upstream;
}
