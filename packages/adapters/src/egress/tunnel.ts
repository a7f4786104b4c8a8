import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Parts } from "./parts.ts";

/** Both ends of a blind connection. */
export interface Ends {
  client: Duplex;
  upstream: Duplex;
}

/**
 * Joins two connections byte for byte, with back-pressure and half-close in both directions. Each closes when both
 * directions have ended; an error, or an end without a goodbye, closes the other at once.
 */
export function joinEnds({ client, upstream }: Ends): void {
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
    if (end instanceof Socket) end.setTimeout(limits.idleMs, () => end.destroy());
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
