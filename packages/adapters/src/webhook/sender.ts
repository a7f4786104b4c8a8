import type { KeyObject } from "node:crypto";
import type { ConnectionOptions } from "node:tls";
import type { Clock } from "@sallyport/engine/ports";
import { isFailure, SallyportError } from "@sallyport/protocol";
import { type Denial, forbidden, isDenial } from "../egress/denial.ts";
import { writeAuthority } from "../egress/destination.ts";
import { type Dial, dialAddress } from "../egress/dial.ts";
import { Gate, type Resolve, type Way } from "../egress/gate.ts";
import { Meter } from "../egress/meter.ts";
import { lookUpAll } from "../egress/options.ts";
import { connectUpstream, type Upstream, upstreamTls } from "../egress/upstream.ts";
import { Deadline, TIMED_OUT } from "./deadline.ts";
import { type Answer, type Delivery, judge, refused, unanswered, unreached } from "./delivery.ts";
import { post, type WebhookRequest } from "./post.ts";
import { readWebhookSecrets } from "./secret.ts";
import { signedHeaders } from "./sign.ts";
import { readWebhookUrl, type WebhookTarget } from "./webhook-url.ts";

/** Idle connections for the next delivery to the same host, each to an address that was checked when it was made. */
class KeptConnections {
  #kept: Upstream[] = [];
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** One that is free for this target; it is the taker's then. */
  take({ to, secure }: WebhookTarget): Upstream | undefined {
    const found = this.#kept.find((upstream) => upstream.isFreeFor(to, secure));
    this.#kept = this.#kept.filter((upstream) => upstream !== found);
    return found;
  }

  /** Keeps one whose answer was read to its end; the oldest goes when there are too many. */
  keep(upstream: Upstream): void {
    this.#kept.push(upstream);
    while (this.#kept.length > this.#most) this.#kept.shift()?.close();
  }

  close(): void {
    for (const upstream of this.#kept) upstream.close();
    this.#kept = [];
  }
}

export interface WebhookOrder {
  /** Letters, digits, `_`, `:`, `~` and `-`; the same for every try. No dot, which parts the signed text. */
  id: string;
  url: string;
  /** JSON, sent as it is. */
  body: string;
  /** Ends the try. */
  signal?: AbortSignal;
}

export interface WebhookSenderOptions {
  /** `whsec_…`, or several: the newest first, then those receivers may still check with. */
  secret: string | readonly string[];
  /** Lets webhooks reach loopback and private addresses, by plain http too. Off unless the operator says so. */
  allowPrivate?: boolean;
  /** For everything from the lookup to the end of the answer. */
  timeoutMs?: number;
  /** Idle connections kept for the next delivery. */
  keptConnections?: number;
  /** PEM certificates trusted besides the host's own. */
  ca?: string;
  clock?: Clock;
  resolve?: Resolve;
  dial?: Dial;
}

/** Signs and posts webhooks. */
export interface WebhookSender {
  readonly timeoutMs: number;
  /** One try; never rejects. */
  send(order: WebhookOrder): Promise<Delivery>;
  /** Ends every connection and every try. */
  close(): void;
}

interface Parts extends Reach {
  keys: readonly KeyObject[];
  kept: KeptConnections;
  timeoutMs: number;
  clock: Clock;
  stopped: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_KEPT = 16;
/** So that an address that swallows everything leaves time for another. */
const CONNECT_SHARE = 3;
const ID = /^[\w:~-]{1,256}$/;

/** Throws SallyportError E3227 when a secret cannot be used. */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const keys = readWebhookSecrets([options.secret].flat());
  if (isFailure(keys)) throw new SallyportError(keys);
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const kept = new KeptConnections(options.keptConnections ?? DEFAULT_KEPT);
  const stop = new AbortController();
  const parts: Parts = {
    keys,
    kept,
    timeoutMs,
    connectMs: Math.ceil(timeoutMs / CONNECT_SHARE),
    clock: options.clock ?? { now: () => Date.now() },
    stopped: stop.signal,
    gate: new Gate([], options.resolve ?? lookUpAll),
    dial: options.dial ?? dialAddress,
    tls: upstreamTls(options.ca),
    allowPrivate: options.allowPrivate ?? false,
  };
  const close = () => {
    stop.abort();
    kept.close();
  };
  return { timeoutMs, send: (order) => send(order, parts), close };
}

async function send(order: WebhookOrder, parts: Parts): Promise<Delivery> {
  if (!ID.test(order.id)) return refused("The webhook's id has characters that cannot be signed for.");
  const target = readWebhookUrl(order.url, parts);
  if ("problem" in target) return refused(`The URL cannot be used: ${target.problem}.`);
  const deadline = new Deadline(parts.timeoutMs, [parts.stopped, order.signal]);
  try {
    return await deliver({ target, request: buildRequest(order, target, parts) }, parts, deadline);
  } finally {
    deadline.end();
  }
}

async function deliver(
  { target, request }: { target: WebhookTarget; request: WebhookRequest },
  parts: Parts,
  deadline: Deadline,
): Promise<Delivery> {
  const kept = parts.kept.take(target);
  const first = kept && (await post(kept, request, deadline));
  // A kept connection may have ended unseen: that says nothing about the receiver.
  if (kept && first?.kind === "answered") return settle(first, { target, upstream: kept }, parts);
  kept?.close();
  const upstream = deadline.isOver ? TIMED_OUT : await reach(target, parts, deadline);
  if (upstream === TIMED_OUT) return unanswered(target, deadline.why);
  if (isDenial(upstream)) return unreached(upstream, target);
  const reply = await post(upstream, request, deadline);
  if (reply.kind === "answered") return settle(reply, { target, upstream }, parts);
  upstream.close();
  return unanswered(target, deadline.why || reply.why);
}

function buildRequest(
  { id, body }: WebhookOrder,
  { to, secure, path }: WebhookTarget,
  parts: Parts,
): WebhookRequest {
  const headers = {
    host: writeAuthority(to, secure ? 443 : 80),
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "user-agent": "sallyport-webhooks",
    ...signedHeaders({ id, at: parts.clock.now(), body }, parts.keys),
  };
  return { path, headers, body };
}

function settle(
  answer: Answer,
  { target, upstream }: { target: WebhookTarget; upstream: Upstream },
  { kept, clock, stopped }: Parts,
): Delivery {
  if (answer.whole && !stopped.aborted) kept.keep(upstream);
  else upstream.close();
  return judge(answer, target, clock.now());
}

/** How targets are connected to. */
interface Reach {
  gate: Gate;
  dial: Dial;
  tls: ConnectionOptions;
  allowPrivate: boolean;
  /** For each address, and for the TLS handshake. */
  connectMs: number;
}

/** Resolves the name once, checks every address it leads to, and connects to one of those and nothing else. */
async function reach(
  target: WebhookTarget,
  parts: Reach,
  deadline: Deadline,
): Promise<Upstream | Denial | typeof TIMED_OUT> {
  const way = await deadline.orOver(wayTo(target, parts));
  if (way === TIMED_OUT || isDenial(way)) return way;
  // Cut, the meter ends whatever is being dialled, and what would be dialled next.
  const meter = new Meter(undefined, () => undefined);
  const forget = deadline.onOver(() => meter.cut());
  const { dial, connectMs, tls } = parts;
  const connecting = connectUpstream(way, { dial, connectMs, meter }, target.secure ? tls : undefined);
  const upstream = await deadline.orOver(connecting);
  forget();
  if (upstream !== TIMED_OUT) return upstream;
  void connecting.then((late) => isDenial(late) || late.close());
  return TIMED_OUT;
}

async function wayTo({ to, secure }: WebhookTarget, { gate, allowPrivate }: Reach): Promise<Way | Denial> {
  const way = await gate.wayTo({ to, rule: { host: to.name, allowPrivate } });
  if (isDenial(way) || secure || way.addresses.every(({ kind }) => kind !== "public")) return way;
  return forbidden(to, `${to.name} is public, and plain http goes to private addresses only.`, "Use https.");
}
