import type { Socket } from "node:net";
import type { Readable } from "node:stream";

/** Bytes to and from upstream, as the network saw them: of an intercepted connection with its TLS. */
export interface EgressUsage {
  sent: number;
  received: number;
}

/** Counts what goes over upstream sockets, and says when a limit is passed. */
export class Meter {
  readonly #open = new Set<Socket>();
  readonly #limit: number | undefined;
  readonly #onSpent: () => void;
  #closed: EgressUsage = { sent: 0, received: 0 };
  #isCut = false;

  /** `onSpent` is called whenever more than `limit` bytes went; left out, there is no limit. */
  constructor(limit: number | undefined, onSpent: () => void) {
    this.#limit = limit;
    this.#onSpent = onSpent;
  }

  /** Counts a socket from its first byte to its last; after the cut it ends it. */
  count(upstream: Socket): void {
    if (this.#isCut) upstream.destroy();
    this.#open.add(upstream);
    upstream.once("close", () => {
      this.#open.delete(upstream);
      this.#closed = plus(this.#closed, upstream);
    });
  }

  usage(): EgressUsage {
    return [...this.#open].reduce(plus, this.#closed);
  }

  isSpent(): boolean {
    if (this.#limit === undefined) return false;
    const { sent, received } = this.usage();
    return sent + received >= this.#limit;
  }

  /** Looks at the limit with each piece of a stream that is being piped. */
  watch(stream: Readable): void {
    if (this.#limit === undefined) return;
    stream.on("data", () => {
      if (this.isSpent()) this.#onSpent();
    });
  }

  /** Ends every upstream connection at once, and all that still come. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#open) socket.destroy();
  }
}

function plus({ sent, received }: EgressUsage, { bytesWritten, bytesRead }: Socket): EgressUsage {
  return { sent: sent + bytesWritten, received: received + bytesRead };
}
