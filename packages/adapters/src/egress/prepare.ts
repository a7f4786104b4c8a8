import type { IncomingMessage } from "node:http";
import { credentialFor, credentialName, exposed } from "./credential.ts";
import { type Denial, isDenial, unreached } from "./denial.ts";
import { writeAuthority } from "./destination.ts";
import type { Admission } from "./gate.ts";
import { endToEnd } from "./headers.ts";
import type { Lane } from "./lane.ts";
import { beyondLimits, type Parts } from "./parts.ts";
import { type ReadRequest, readBound, readForward } from "./read-request.ts";
import { connectUpstream, type Upstream } from "./upstream.ts";

/** A request that may go, with the connection it goes over. Its headers may hold a secret. */
export interface Prepared {
  upstream: Upstream;
  path: string;
  headers: string[];
  hasBody: boolean;
}

/** Rewritten here, whatever the client sent. */
const REWRITTEN = ["host", "content-length", "expect"];

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
  const added = credential ? [credential.name, credential.value] : [];
  const headers = [...headersFor(req, asked, upstream), ...added];
  return { upstream, path: asked.path, headers, hasBody: hasBody(asked.frame) };
}

function headersFor(req: IncomingMessage, { to, frame }: ReadRequest, upstream: Upstream): string[] {
  const { credential } = upstream.way.rule;
  const replaced = credential ? [...REWRITTEN, credentialName(credential)] : REWRITTEN;
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
