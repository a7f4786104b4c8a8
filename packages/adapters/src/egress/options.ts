import { lookup } from "node:dns/promises";
import type { Clock, EgressRule, SecretSource } from "@sallyport/engine/ports";
import type { Dial } from "./dial.ts";
import type { Resolve } from "./gate.ts";
import type { Refusal } from "./refusals.ts";

/** What a client may use of the proxy at most. */
export interface EgressLimits {
  /** Of a request's or an answer's head. */
  headerBytes: number;
  /** Within this a request's head, or a SOCKS or TLS handshake, must have come. */
  headMs: number;
  /** A connection on which nothing moves for so long is ended. */
  idleMs: number;
  /** For resolving a name, and for connecting to each address. */
  connectMs: number;
  /** To and from upstream together; then everything is cut. Left out: no limit. */
  bytes?: number;
}

/** How one sandbox reaches the network. */
export interface EgressOptions {
  /** Where to listen. The socket is the sandbox's identity: nobody else may reach its folder. */
  socketPath: string;
  /** Permissions of the socket; the sandbox's user must be able to connect. */
  socketMode?: number;
  rules: readonly EgressRule[];
  /** Asked for each request that needs a credential. */
  secrets?: SecretSource;
  /** Clients at once. */
  connections: number;
  limits?: Partial<EgressLimits>;
  resolve?: Resolve;
  dial?: Dial;
  onRefused?: (refusal: Refusal) => void;
  /** PEM certificates trusted upstream besides the host's own, for intercepted connections. */
  upstreamCa?: string;
  clock?: Clock;
}

export const DEFAULT_EGRESS_LIMITS: EgressLimits = {
  headerBytes: 32 * 1024,
  headMs: 10_000,
  idleMs: 300_000,
  connectMs: 10_000,
};

/** The host's own resolver, in the order it prefers. */
export const lookUpAll: Resolve = (host) => lookup(host, { all: true, order: "verbatim" });
