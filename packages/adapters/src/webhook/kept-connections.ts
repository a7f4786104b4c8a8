import type { Upstream } from "../egress/upstream.ts";
import type { WebhookTarget } from "./webhook-url.ts";

/** Idle connections for the next delivery to the same host, each to an address that was checked when it was made. */
export class KeptConnections {
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
