import type { JsonObject } from "@sallyport/protocol";
import type { Callback } from "../ports/calls.ts";
import {
  CLAIM_MS,
  type HeldOrder,
  type HeldWork,
  type InstanceRecord,
  type Instances,
  type Lease,
  type Work,
  type WorkClaims,
  type WorkKind,
} from "../ports/fleet.ts";
import type { Claimer, MemoryCalls } from "./calls.ts";
import type { MemoryApprovals } from "./permits.ts";

/** The instances that have a lease. One whose lease has expired is forgotten when the next lease is taken. */
export class MemoryInstances {
  readonly #instances = new Map<string, InstanceRecord>();
  readonly now: () => number;

  readonly port: Instances = {
    renew: async ({ instance, ttlMs, about }) => this.#renew(instance, ttlMs, about),
    leave: async (instance) => void this.#instances.delete(instance),
    isLive: async (instance) => this.isLive(instance),
    list: async () => this.#live().map((record) => structuredClone(record)),
  };

  constructor(now: () => number) {
    this.now = now;
  }

  isLive(instance: string): boolean {
    return (this.#instances.get(instance)?.expiresAt ?? 0) > this.now();
  }

  #live(): InstanceRecord[] {
    const live = [...this.#instances.values()].filter(({ instance }) => this.isLive(instance));
    return live.sort((one, other) => one.slot - other.slot);
  }

  #renew(instance: string, ttlMs: number, about: JsonObject | undefined): Lease {
    const live = this.#live();
    const before = live.find((record) => record.instance === instance);
    for (const gone of [...this.#instances.keys()]) if (!this.isLive(gone)) this.#instances.delete(gone);
    const slot = before?.slot ?? lowestFree(live.map((record) => record.slot));
    const now = this.now();
    const lease = { instance, slot, expiresAt: now + ttlMs };
    const kept = {
      startedAt: before?.startedAt ?? now,
      about: structuredClone(about ?? before?.about ?? {}),
    };
    this.#instances.set(instance, { ...lease, ...kept });
    return lease;
  }
}

/** `taken` in ascending order. */
function lowestFree(taken: readonly number[]): number {
  const free = taken.findIndex((slot, index) => slot !== index);
  return free === -1 ? taken.length : free;
}

interface WorkParts {
  calls: MemoryCalls;
  approvals: MemoryApprovals;
  callbacks: { claim(claimer: Claimer): Callback[] };
  instances: MemoryInstances;
}

/** Hands out what the parts hold. */
export function memoryWork({ calls, approvals, callbacks, instances }: WorkParts): WorkClaims {
  const claims: { [Kind in WorkKind]: (claimer: Claimer) => Work[Kind][] } = {
    queued: (claimer) => calls.claimQueued(claimer),
    approved: (claimer) => approvals.claim("approved", claimer),
    expired_approval: (claimer) => approvals.claim("expired_approval", claimer),
    reservation: (claimer) => approvals.claim("reservation", claimer),
    orphan: (claimer) => calls.claimOrphans(claimer),
    cancel: (claimer) => calls.claimCancels(claimer),
    callback: (claimer) => callbacks.claim(claimer),
  };
  return {
    claim: async ({ kind, instance, limit, holdMs = CLAIM_MS, except = [] }) => {
      if (limit <= 0 || !instances.isLive(instance)) return [];
      const isLive = (other: string) => instances.isLive(other);
      return claims[kind]({ instance, limit, holdMs, except, now: instances.now(), isLive });
    },
    release: async ({ kind, instance, ids }) => {
      if (kind === "queued") calls.releaseQueued(instance, ids);
      else approvals.release(instance, ids);
    },
    held: async <Kind extends keyof HeldWork>(order: HeldOrder<Kind>) => {
      const { kind, instance, limit, except } = order;
      const all: { [Each in keyof HeldWork]: HeldWork[Each][] } = {
        ...calls.held(instance),
        approved: approvals.held(instance, instances.now()),
      };
      const left = new Set(except);
      return all[kind].filter(({ callId }) => !left.has(callId)).slice(0, Math.max(0, limit));
    },
  };
}
