import { type Failure, failure, isFailure } from "@sallyport/protocol";
import { type GrantEventKind, grantEventBody, SYSTEM_TENANT } from "../audit/index.ts";
import {
  type CapabilityTree,
  type DelegationDraft,
  delegateGrant,
  type GrantContext,
  type GrantDraft,
  type GrantIndex,
  type Grantor,
  type GrantSigner,
  issueGrant,
  revokeGrant,
} from "../authorise/grant/index.ts";
import { issueStanding, type StandingDraft } from "../authorise/standing-grant.ts";
import type { CapabilityGrant, GrantRecord, GrantWrite, StandingGrant } from "../ports/grants.ts";
import type { Bus, Clock, Ids } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import type { RunningCalls } from "../running/running-calls.ts";

/** What keeping grants needs of the engine. */
export interface GrantsContext {
  readonly store: Pick<Store, "commit" | "grants">;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly bus: Bus;
  /** Without one no grant can be given. */
  readonly signer: GrantSigner | undefined;
  readonly capabilities: CapabilityTree;
  /** Told at once, so that the next decision of this process knows. */
  readonly grantIndex?: Pick<GrantIndex, "put"> | undefined;
  /** The calls of this process; those that rest on a revoked grant end. */
  readonly inFlight?: Pick<RunningCalls, "withdraw">;
}

export interface Revoked {
  grant: GrantRecord;
  /** What was revoked now, the named grant first; empty when everything was revoked before. */
  revoked: GrantRecord[];
  /** Calls of this process that were ended because they rested on one of them. */
  ended: string[];
}

export interface RevokeOrder {
  /** A name, for an operator; anybody else needs the authority. */
  by: string | Grantor;
  reason: string;
}

const ATTEMPTS = 5;

/** A change of grants: what to write, and what to say about it. */
interface Change<Result> {
  writes: GrantWrite[];
  events: { kind: GrantEventKind; record: GrantRecord }[];
  result: Result;
}

/**
 * The grants of an engine: given, passed on and taken back, each change whole and on record or not made at all. Refusals
 * are failures and leave everything as it was; a lost store is thrown.
 */
export class Grants {
  readonly #context: GrantsContext;

  constructor(context: GrantsContext) {
    this.#context = context;
  }

  /** All of them, oldest first, the revoked and expired ones included. */
  list(): Promise<GrantRecord[]> {
    return this.#context.store.grants.all();
  }

  get(grantId: string): Promise<GrantRecord | undefined> {
    return this.#context.store.grants.get(grantId);
  }

  /** Gives a capability (RFC-0003). Refused with E3220 and every reason. */
  issue(draft: GrantDraft): Promise<CapabilityGrant | Failure> {
    return this.#give((context) => given(issueGrant(draft, context), "GRANT_ISSUED"));
  }

  /** Passes a part of a grant on. Refused with E3220 and every reason, or E3221. */
  delegate(parentGrantId: string, draft: DelegationDraft): Promise<CapabilityGrant | Failure> {
    return this.#give((context) => {
      const change = given(delegateGrant(parentGrantId, draft, context), "GRANT_DELEGATED");
      const parent = context.held.find(({ grantId }) => grantId === parentGrantId);
      if (isFailure(change) || !parent) return change;
      // Written too, so that a revocation at the same moment and this cannot both succeed unseen.
      const touched = { ...parent, revision: parent.revision + 1 };
      return { ...change, writes: [...change.writes, { record: touched, expect: parent.revision }] };
    });
  }

  /** Keeps an "always allow". Refused with E3220 when it has expired already or cannot be understood. */
  allow(draft: StandingDraft): Promise<StandingGrant | Failure> {
    return this.#give((context) => given(issueStanding(draft, context), "GRANT_ISSUED"));
  }

  /**
   * Takes a grant back, with everything that was delegated from it, in one unit, and ends the calls that rest on any
   * of them. Safe to repeat. Refused with E3221 when there is none, E3220 when the asker may not.
   */
  async revoke(grantId: string, { by, reason }: RevokeOrder): Promise<Revoked | Failure> {
    const word = { by: typeof by === "string" ? { id: by, operator: true } : by, reason };
    const cascade = await this.#change((context) => {
      const marked = revokeGrant(grantId, word, context);
      if (isFailure(marked)) return marked;
      const { revoked } = marked;
      return {
        writes: revoked.map((record) => ({ record, expect: record.revision - 1 })),
        events: revoked.map((record) => ({ kind: "GRANT_REVOKED" as const, record })),
        result: marked,
      };
    });
    return isFailure(cascade) ? cascade : { ...cascade, ended: this.#end(cascade.revoked, word.by.id) };
  }

  /** Without a key there is nothing to sign with (E3227). */
  async #give<Grant extends GrantRecord>(
    make: (context: GrantContext) => Change<Grant> | Failure,
  ): Promise<Grant | Failure> {
    if (this.#context.signer) return await this.#change(make);
    return failure("E3227", { message: "There is no key to sign grants with." });
  }

  #end(revoked: readonly GrantRecord[], by: string): string[] {
    if (revoked.length === 0) return [];
    const ids = revoked.map(({ grantId }) => grantId);
    const message = `${by} revoked grant ${ids[0]}, on which the call rested.`;
    const error = failure("E3217", { message, details: { grants: ids } });
    return this.#context.inFlight?.withdraw({ grants: ids }, error) ?? [];
  }

  /** Makes a change on what is stored now; again, from the beginning, when somebody else changed it meanwhile. */
  async #change<Result extends object>(
    make: (context: GrantContext) => Change<Result> | Failure,
  ): Promise<Result | Failure> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const context = await this.#grantContext();
      const change = make(context);
      if (isFailure(change)) return change;
      if (change.writes.length === 0 || (await this.#isCommitted(change, context.now))) return change.result;
    }
    return failure("E3222", {
      message: `The grants were changed by others ${ATTEMPTS} times meanwhile; nothing was done.`,
      advice: "Ask again.",
    });
  }

  async #grantContext(): Promise<GrantContext> {
    const { store, clock, ids, signer = NO_SIGNER, capabilities: tree } = this.#context;
    return { held: await store.grants.all(), tree, now: clock.now(), ids, signer };
  }

  async #isCommitted({ writes, events }: Change<unknown>, timestamp: number): Promise<boolean> {
    const { store, ids } = this.#context;
    const result = await store.commit({
      tenant: events[0]?.record.tenant ?? SYSTEM_TENANT,
      grants: writes,
      events: events.map(({ kind, record }) =>
        grantEventBody(kind, record, { eventId: ids.next(), timestamp }),
      ),
      outbox: [],
    });
    if (result.ok) this.#announce(writes, events);
    return result.ok;
  }

  /** The hint goes out first: it sets aside what is known, and what is written then stands as it is now. */
  #announce(writes: readonly GrantWrite[], events: Change<unknown>["events"]): void {
    const { bus, grantIndex } = this.#context;
    const idsOf = (isRevoked: boolean) =>
      events.flatMap(({ kind, record }) => ((kind === "GRANT_REVOKED") === isRevoked ? record.grantId : []));
    bus.publish("grants:updates", { changed: idsOf(false), revoked: idsOf(true) });
    for (const { record } of writes) grantIndex?.put(record);
  }
}

/** Knows no grant as its own: enough to take grants back with, for which no key is needed. */
const NO_SIGNER: GrantSigner = { sign: () => "", verify: () => false };

function given<Grant extends GrantRecord>(
  grant: Grant | Failure,
  kind: GrantEventKind,
): Change<Grant> | Failure {
  if (isFailure(grant)) return grant;
  return { writes: [{ record: grant }], events: [{ kind, record: grant }], result: grant };
}
