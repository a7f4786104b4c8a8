import { hash, timingSafeEqual } from "node:crypto";
import { isIPv6 } from "node:net";
import { type Failure, failure } from "@sallyport/protocol";
import { type DocumentStore, Documents } from "../../runtime/documents.ts";

const WRONG_KEYS = 10;
const REFILL_MS = 6_000;
const ADDRESSES = 4_096;
/** Of an IPv6 address; the first half is the network. */
const GROUPS = 8;
/** A count is kept longer than it says: the store forgets it by its own clock, which may be ahead of that of a process. */
const KEPT_LONGER_MS = 3_600_000;
/** When other processes count wrong keys of the same address at once, so often; then the key is refused as one too many. */
const TRIES = 5;

export interface OperatorKeyCheckOptions {
  now?: () => number;
}

/**
 * Compares with the operator key, of which only a hash is kept. From one address ten wrong keys are heard, then one
 * every six seconds, by all processes on the store together. The right key always counts.
 */
export class OperatorKeyCheck {
  readonly #digest: Buffer;
  readonly #now: () => number;
  /** When the last of an address's wrong keys is forgotten. */
  readonly #counters: Documents<{ forgottenAt: number }>;
  /** What this process knows of it, oldest first: an address that tries on does not reach the store. */
  readonly #known = new Map<string, number>();
  /** By address: one wrong key is counted after the other. */
  readonly #turns = new Map<string, Promise<Failure>>();

  constructor(key: string, store: DocumentStore, { now = Date.now }: OperatorKeyCheckOptions = {}) {
    this.#digest = digestOf(key);
    this.#counters = new Documents(store, "wrong-operator-keys");
    this.#now = now;
  }

  /** Undefined for the right key, at once; E3939 for another, E3941 once an address has tried too many. */
  check(key: string, address: string): undefined | Promise<Failure> {
    // Nobody guesses 256 bits: that others at the same address tried must not keep out who has the key.
    return timingSafeEqual(digestOf(key), this.#digest) ? undefined : this.#inTurn(sourceOf(address));
  }

  #inTurn(source: string): Promise<Failure> {
    const refuse = () => this.#refuse(source);
    const turn = (this.#turns.get(source) ?? Promise.resolve()).then(refuse, refuse).finally(() => {
      if (this.#turns.get(source) === turn) this.#turns.delete(source);
    });
    this.#turns.set(source, turn);
    return turn;
  }

  async #refuse(source: string): Promise<Failure> {
    const known = this.#tooMany(this.#known.get(source) ?? 0);
    if (known) return known;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const found = await this.#counters.get(source);
      const forgottenAt = found?.body.forgottenAt ?? 0;
      const refused = this.#tooMany(forgottenAt);
      if (refused) {
        this.#note(source, forgottenAt);
        return refused;
      }
      const next = Math.max(forgottenAt, this.#now()) + REFILL_MS;
      const isCounted = await this.#counters.put(
        source,
        { forgottenAt: next },
        { expect: found?.revision ?? 0, expiresAt: next + KEPT_LONGER_MS },
      );
      if (isCounted) {
        this.#note(source, next);
        return failure("E3939", { message: "This is not the operator key." });
      }
    }
    return failure("E3941", { details: { retryAfterMs: REFILL_MS } });
  }

  #tooMany(forgottenAt: number): Failure | undefined {
    // The clock of the process that counted may be ahead: nobody waits longer than all wrong keys are remembered.
    const leftMs = Math.min(forgottenAt - this.#now(), WRONG_KEYS * REFILL_MS);
    const waitMs = leftMs - (WRONG_KEYS - 1) * REFILL_MS;
    return waitMs > 0 ? failure("E3941", { details: { retryAfterMs: waitMs } }) : undefined;
  }

  #note(source: string, forgottenAt: number): void {
    this.#known.delete(source);
    this.#known.set(source, forgottenAt);
    const [oldest] = this.#known.keys();
    if (this.#known.size > ADDRESSES && oldest !== undefined) this.#known.delete(oldest);
  }
}

function digestOf(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

/** Of IPv6 the network: one sender has all of it. */
function sourceOf(address: string): string {
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  const [head = "", tail = ""] = address.split("::");
  const [before, after] = [head, tail].map((part) => part.split(":").filter((group) => group !== ""));
  const left = Math.max(0, GROUPS - (before?.length ?? 0) - (after?.length ?? 0));
  return [...(before ?? []), ...Array<string>(left).fill("0"), ...(after ?? [])]
    .slice(0, GROUPS / 2)
    .join(":");
}
