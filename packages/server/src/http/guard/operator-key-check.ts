import { hash, timingSafeEqual } from "node:crypto";
import { isIPv6 } from "node:net";
import { type Failure, failure } from "@sallyport/protocol";

const WRONG_KEYS = 10;
const REFILL_MS = 6_000;
const ADDRESSES = 4_096;
/** Of an IPv6 address; the first half is the network. */
const GROUPS = 8;

export interface OperatorKeyCheckOptions {
  now?: () => number;
}

/**
 * Compares with the operator key, of which only a hash is kept. From one address ten wrong keys are heard, then one
 * every six seconds. The right key always counts.
 */
export class OperatorKeyCheck {
  readonly #digest: Buffer;
  readonly #now: () => number;
  /** When the last of an address's wrong keys is forgotten; oldest first. */
  readonly #forgottenAt = new Map<string, number>();

  constructor(key: string, { now = Date.now }: OperatorKeyCheckOptions = {}) {
    this.#digest = digestOf(key);
    this.#now = now;
  }

  /** Undefined for the right key; E3939 for another, E3941 once an address has tried too many. */
  check(key: string, address: string): Failure | undefined {
    // Nobody guesses 256 bits: that others at the same address tried must not keep out who has the key.
    if (timingSafeEqual(digestOf(key), this.#digest)) return undefined;
    const source = sourceOf(address);
    const waitMs = (this.#forgottenAt.get(source) ?? 0) - this.#now() - (WRONG_KEYS - 1) * REFILL_MS;
    if (waitMs > 0) return failure("E3941", { details: { retryAfterMs: waitMs } });
    this.#noteWrong(source);
    return failure("E3939", { message: "This is not the operator key." });
  }

  #noteWrong(source: string): void {
    const forgottenAt = Math.max(this.#forgottenAt.get(source) ?? 0, this.#now()) + REFILL_MS;
    this.#forgottenAt.delete(source);
    this.#forgottenAt.set(source, forgottenAt);
    const [oldest] = this.#forgottenAt.keys();
    if (this.#forgottenAt.size > ADDRESSES && oldest !== undefined) this.#forgottenAt.delete(oldest);
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
