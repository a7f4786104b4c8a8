import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import type { SecretSource } from "@sallyport/engine/ports";
import { type Denial, exhausted } from "./denial.ts";
import type { Destination } from "./destination.ts";
import type { Dialler } from "./dial.ts";
import type { Gate } from "./gate.ts";
import type { Interception } from "./interception.ts";
import type { Lane } from "./lane.ts";
import type { EgressLimits } from "./options.ts";
import type { Refusals } from "./refusals.ts";

/** What every door of one proxy shares. */
export interface Parts {
  gate: Gate;
  dialler: Dialler;
  refusals: Refusals;
  limits: EgressLimits;
  secrets: SecretSource | undefined;
  /** How upstream is verified. */
  tls: ConnectionOptions;
  /** Present when a rule asks for it. */
  interception: Interception | undefined;
  connections: number;
  /** Reads HTTP from any connection it is given. */
  http: Server;
  /** The lane of a connection, also of what was unwrapped from it. */
  lanes: WeakMap<Duplex, Lane>;
}

/** Refuses what goes beyond the limits of the whole proxy. */
export function beyondLimits(
  { dialler, connections, limits }: Parts,
  lane: Lane,
  to: Destination,
): Denial | undefined {
  if (lane.crowded) return exhausted(to, `More than ${connections} connections at once are not allowed.`);
  if (dialler.meter.isSpent()) return exhausted(to, `More than ${limits.bytes} bytes are not allowed.`);
  return undefined;
}
