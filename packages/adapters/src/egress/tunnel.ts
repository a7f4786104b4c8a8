import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { timerMs } from "@sallyport/engine/host";
import { type Denial, isDenial, unreached } from "./denial.ts";
import type { Destination } from "./destination.ts";
import { dialWay } from "./dial.ts";
import type { Admission } from "./gate.ts";
import type { Lane } from "./lane.ts";
import { beyondLimits, type Parts } from "./parts.ts";

/** What CONNECT or SOCKS may go on with: a connection to upstream, or TLS that is ended here. */
type Opening = { kind: "tunnel"; upstream: Socket } | { kind: "intercept"; admission: Admission };

/** Decides on a tunnel and connects it, so that the client hears yes only when there is one. */
export async function openWay(parts: Parts, lane: Lane, to: Destination): Promise<Opening | Denial> {
  const admission = beyondLimits(parts, lane, to) ?? parts.gate.admit(to);
  if (isDenial(admission)) return admission;
  if (admission.rule.credential?.intercept === true) return { kind: "intercept", admission };
  const way = await parts.gate.wayTo(admission);
  if (isDenial(way)) return way;
  const upstream = await dialWay(way, parts.dialler, true);
  if (isDenial(upstream)) return upstream;
  if (!lane.socket.destroyed) return { kind: "tunnel", upstream };
  upstream.destroy();
  return unreached(to, "E3304", { message: "The client went away." });
}

/** Hands the client's connection over, after it was told yes; `early` is what it sent without waiting. */
export function goOn(
  parts: Parts,
  lane: Lane,
  { opening, early }: { opening: Opening; early: Buffer },
): void {
  if (early.length > 0) lane.socket.unshift(early);
  if (opening.kind === "intercept") intercept(parts, lane, opening.admission);
  else joinTunnel(parts, { client: lane.socket, upstream: opening.upstream });
}

/** Both ends of a blind connection. */
interface Ends {
  client: Duplex;
  upstream: Duplex;
}

/**
 * Joins two connections byte for byte, with back-pressure and half-close in both directions. Each closes when both
 * directions have ended; an error, or an end without a goodbye, closes the other at once.
 */
function joinEnds({ client, upstream }: Ends): void {
  client.pipe(upstream);
  upstream.pipe(client);
  closeAfter(client, upstream);
  closeAfter(upstream, client);
}

/** Joins two connections under the proxy's limits. */
export function joinTunnel({ limits, dialler }: Parts, ends: Ends): void {
  joinEnds(ends);
  for (const end of [ends.client, ends.upstream]) {
    dialler.meter.watch(end);
    if (end instanceof Socket) end.setTimeout(timerMs(limits.idleMs), () => end.destroy());
  }
}

function closeAfter(first: Duplex, other: Duplex): void {
  first.once("close", () => {
    const isOnItsWay = other.writableEnded && !other.writableFinished;
    // After a tidy close, what was already taken for the other side must still arrive there.
    if (isOnItsWay && !first.errored) other.once("finish", () => other.destroy());
    else other.destroy();
  });
}

/** Ends the client's TLS here; each request inside is then forwarded to that host, and only there. */
function intercept(parts: Parts, lane: Lane, admission: Admission): void {
  if (!parts.interception) throw new Error("a rule asks for interception, but nothing was prepared for it");
  lane.bound = admission;
  lane.expectHead(parts.limits.headMs);
  const secured = new TLSSocket(lane.socket, {
    isServer: true,
    secureContext: parts.interception.contextFor(admission.to),
    ALPNProtocols: ["http/1.1"],
  });
  parts.lanes.set(secured, lane);
  // A client that distrusts the certificate ends here; "close" follows and releases everything.
  secured.on("error", () => lane.socket.destroy());
  secured.once("close", () => lane.socket.destroy());
  parts.http.emit("connection", secured);
}
