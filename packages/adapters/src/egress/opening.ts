import type { Socket } from "node:net";
import { type Denial, isDenial, unreached } from "./denial.ts";
import type { Destination } from "./destination.ts";
import { dialWay } from "./dial.ts";
import type { Admission } from "./gate.ts";
import { intercept } from "./interception.ts";
import type { Lane } from "./lane.ts";
import { beyondLimits, type Parts } from "./parts.ts";
import { joinTunnel } from "./tunnel.ts";

/** What CONNECT or SOCKS may go on with: a connection to upstream, or TLS that is ended here. */
export type Opening = { kind: "tunnel"; upstream: Socket } | { kind: "intercept"; admission: Admission };

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
