import type { ConnectionOptions } from "node:tls";
import { type Denial, forbidden, isDenial } from "../egress/denial.ts";
import type { Dial } from "../egress/dial.ts";
import type { Gate, Way } from "../egress/gate.ts";
import { Meter } from "../egress/meter.ts";
import { connectUpstream, type Upstream } from "../egress/upstream.ts";
import { OVER, type Patience } from "./patience.ts";
import type { WebhookTarget } from "./webhook-url.ts";

/** How targets are connected to. */
export interface Reach {
  gate: Gate;
  dial: Dial;
  tls: ConnectionOptions;
  allowPrivate: boolean;
  /** For each address, and for the TLS handshake. */
  connectMs: number;
}

/** Resolves the name once, checks every address it leads to, and connects to one of those and nothing else. */
export async function reach(
  target: WebhookTarget,
  parts: Reach,
  patience: Patience,
): Promise<Upstream | Denial | typeof OVER> {
  const way = await patience.orOver(wayTo(target, parts));
  if (way === OVER || isDenial(way)) return way;
  // Cut, the meter ends whatever is being dialled, and what would be dialled next.
  const meter = new Meter(undefined, () => undefined);
  const forget = patience.onOver(() => meter.cut());
  const { dial, connectMs, tls } = parts;
  const connecting = connectUpstream(way, { dial, connectMs, meter }, target.secure ? tls : undefined);
  const upstream = await patience.orOver(connecting);
  forget();
  if (upstream !== OVER) return upstream;
  void connecting.then((late) => isDenial(late) || late.close());
  return OVER;
}

async function wayTo({ to, secure }: WebhookTarget, { gate, allowPrivate }: Reach): Promise<Way | Denial> {
  const way = await gate.wayTo({ to, rule: { host: to.name, allowPrivate } });
  if (isDenial(way) || secure || way.addresses.every(({ kind }) => kind !== "public")) return way;
  return forbidden(to, `${to.name} is public, and plain http goes to private addresses only.`, "Use https.");
}
