import { type Failure, failure, type JsonObject } from "@sallyport/protocol";
import type { Lease } from "../ports/fleet.ts";
import type { Clock, ErrorHandler } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { TIMED_OUT, timerMs, withTimeout } from "../timeouts.ts";

/** How a process holds its lease on a shared store. */
export interface LeaseRules {
  /** How long the store counts on the process after each renewal. */
  leaseMs: number;
  renewMs: number;
}

export const DEFAULT_LEASE: LeaseRules = { leaseMs: 15_000, renewMs: 5_000 };

/** The part of a lease that is used without a renewal; the rest is for ending what must have ended before it expires. */
const USABLE = 2 / 3;
/** The part of the usual period after which a renewal that failed is tried again. */
const SOONER = 1 / 5;

interface MembershipOptions extends LeaseRules {
  instance: string;
  store: Pick<Store, "isShared" | "instances">;
  clock: Clock;
  errors: ErrorHandler;
  /** What the process says of itself to whoever lists the instances. */
  about?: JsonObject | undefined;
  /** Called once each time the lease was not renewed in time: what changes the world has to end now. */
  onLate(error: Failure): void;
}

/**
 * This process among those that use the store.
 *
 *   joining → held ⇄ late → left
 *
 * `held`: a renewal was asked for less than two thirds of a lease ago, by the monotonic clock of this process. `late`: it
 * was not; nothing begins here, and attempts that change the world end, before the lease expires for others. A renewal
 * that arrives later makes it `held` again: whatever others have claimed meanwhile is fenced. Where no other process can
 * use the store the lease has no end and nothing is renewed.
 */
export class Membership {
  readonly #options: MembershipOptions;
  /** By the monotonic clock. */
  #usableUntil = -Infinity;
  #lease: Lease | undefined;
  #isLate = false;
  #renewal: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #hasLeft = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** Takes the lease. Rejects when a shared store does not give one. */
  async join(): Promise<void> {
    const { store, renewMs } = this.#options;
    if (store.isShared) {
      await this.#renew();
      this.#renewIn(renewMs);
      return;
    }
    this.#usableUntil = Number.POSITIVE_INFINITY;
    // A store that is opened for reading only gives no lease, and needs none.
    await this.#renew().catch(() => undefined);
  }

  /** The slot of the lease; 0 before there is one. */
  get slot(): number {
    return this.#lease?.slot ?? 0;
  }

  /** Why nothing may begin here; undefined while the lease is held. */
  get refusal(): Failure | undefined {
    return this.#elapsed() < this.#usableUntil ? undefined : late(this.#options);
  }

  /** Gives the lease up, so that others need not wait for its end. Never rejects. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    clearTimeout(this.#renewal);
    clearTimeout(this.#watch);
    const { store, instance } = this.#options;
    // A store that is away forgets the lease by itself.
    await store.instances.leave(instance).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    const { store, instance, leaseMs, about } = this.#options;
    const askedAt = this.#elapsed();
    const ttlMs = store.isShared ? leaseMs : Number.POSITIVE_INFINITY;
    this.#lease = await store.instances.renew({ instance, ttlMs, ...(about && { about }) });
    // The store counts from when it was asked at the earliest.
    this.#usableUntil = Math.max(this.#usableUntil, askedAt + ttlMs * USABLE);
    this.#isLate = false;
    if (store.isShared && !this.#hasLeft) this.#watchOver();
  }

  #renewIn(ms: number): void {
    this.#renewal = setTimeout(() => void this.#tryRenew(), timerMs(ms)).unref();
  }

  /** An answer that does not come is not waited for: the next renewal may find a store that is back. */
  async #tryRenew(): Promise<void> {
    const { renewMs, errors } = this.#options;
    let isRenewed = false;
    try {
      isRenewed = (await withTimeout(this.#renew(), renewMs)) !== TIMED_OUT;
    } catch (error) {
      errors.report({ error, code: "E3922", stage: "lease" });
    }
    if (!this.#hasLeft) this.#renewIn(isRenewed ? renewMs : renewMs * SOONER);
  }

  #watchOver(): void {
    clearTimeout(this.#watch);
    this.#watch = setTimeout(() => this.#check(), timerMs(this.#usableUntil - this.#elapsed())).unref();
  }

  #check(): void {
    const { refusal } = this;
    if (!refusal) {
      this.#watchOver();
      return;
    }
    if (this.#isLate) return;
    this.#isLate = true;
    this.#options.errors.report({ error: refusal, code: refusal.code, stage: "lease" });
    this.#options.onLate(refusal);
  }

  #elapsed(): number {
    const { clock } = this.#options;
    return clock.elapsed?.() ?? clock.now();
  }
}

function late({ leaseMs }: LeaseRules): Failure {
  const message = `This process could not renew its lease of ${leaseMs} ms on the store, so it begins nothing.`;
  return failure("E3922", { message });
}
