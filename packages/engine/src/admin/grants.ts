import { type Failure, failure, isFailure } from "@sallyport/protocol";
import { auditBody, type GrantEventKind, grantEvent, SYSTEM_TENANT } from "../audit/index.ts";
import {
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
import type { EngineContext } from "../context.ts";
import type { CapabilityGrant, GrantRecord, StandingGrant } from "../ports/grants.ts";
import type { Store } from "../ports/store.ts";
import type { RunningCalls } from "../running/running-calls.ts";

/** What keeping grants needs of the engine. */
export type GrantsContext = Pick<EngineContext, "clock" | "ids" | "bus" | "signer" | "capabilities"> & {
  readonly store: Pick<Store, "commit" | "grants">;
  /** Told at once, so that the next decision of this process knows. */
  readonly grantIndex?: Pick<GrantIndex, "put"> | undefined;
  /** The calls of this process; those that rest on a revoked grant end. */
  readonly inFlight?: Pick<RunningCalls, "withdraw">;
};

export interface Revoked {
  grant: GrantRecord;
  /** What was revoked now, the named grant first; empty when everything was revoked before. */
  revoked: GrantRecord[];
  /** Calls of this process that were ended because they rested on one of them. */
  ended: string[];
}

interface RevokeOrder {
  /** A name, for an operator; anybody else needs the authority. */
  by: string | Grantor;
  reason: string;
}

const ATTEMPTS = 5;

/** A change of grants. Each of them is written, and gets an event. */
interface Change<Result> {
  kind: GrantEventKind;
  records: readonly GrantRecord[];
  /** Written too, so that a revocation at the same moment and this change cannot both succeed unseen. */
  touched?: GrantRecord;
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
  async list(): Promise<GrantRecord[]> {
    return (await this.#context.store.grants.changedSince()).changed;
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
      return { ...change, touched: { ...parent, revision: parent.revision + 1 } };
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
      const result = revokeGrant(grantId, word, context);
      return isFailure(result) ? result : { kind: "GRANT_REVOKED", records: result.revoked, result };
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
    const { store, clock, ids, signer = NO_SIGNER, capabilities: tree } = this.#context;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const held = (await store.grants.changedSince()).changed;
      const now = clock.now();
      const change = make({ held, tree, now, ids, signer });
      if (isFailure(change)) return change;
      if (change.records.length === 0 || (await this.#isCommitted(change, now))) return change.result;
    }
    return failure("E3222", {
      message: `The grants were changed by others ${ATTEMPTS} times meanwhile; nothing was done.`,
      advice: "Ask again.",
    });
  }

  async #isCommitted({ kind, records, touched }: Change<unknown>, timestamp: number): Promise<boolean> {
    const { store, ids, bus, grantIndex } = this.#context;
    const written = touched ? [...records, touched] : records;
    const tenant = records[0]?.tenant ?? SYSTEM_TENANT;
    const result = await store.commit({
      tenant,
      grants: written.map((record) => ({
        record,
        ...(record.revision > 1 && { expect: record.revision - 1 }),
      })),
      audit: auditBody(
        tenant,
        records.map((record) => grantEvent(kind, record, { eventId: ids.next(), timestamp })),
      ),
    });
    if (!result.ok) return false;
    const named = records.map(({ grantId }) => grantId);
    const isRevoked = kind === "GRANT_REVOKED";
    // The hint goes out first: it sets aside what is known, and what is written then stands as it is now.
    bus.publish("grants:updates", { changed: isRevoked ? [] : named, revoked: isRevoked ? named : [] });
    for (const record of written) grantIndex?.put(record);
    return true;
  }
}

/** Knows no grant as its own: enough to take grants back with, for which no key is needed. */
const NO_SIGNER: GrantSigner = { sign: () => "", verify: () => false };

function given<Grant extends GrantRecord>(
  grant: Grant | Failure,
  kind: GrantEventKind,
): Change<Grant> | Failure {
  return isFailure(grant) ? grant : { kind, records: [grant], result: grant };
}
