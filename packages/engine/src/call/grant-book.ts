import { type Failure, failure, isFailure } from "@sallyport/protocol";
import { type GrantEventKind, grantEventBody } from "../audit/grant-event.ts";
import { HOUSE_TENANT } from "../audit/tool-event.ts";
import {
  type CapabilityTree,
  type DelegationDraft,
  delegateGrant,
  type GrantDraft,
  type GrantOffice,
  type Grantor,
  type GrantShelf,
  type GrantSigner,
  issueGrant,
  revokeGrant,
  signGrant,
} from "../authorise/capability/index.ts";
import { notAllowed, type StandingDraft, standingIssues } from "../authorise/standing/index.ts";
import type { Bus } from "../ports/bus.ts";
import type { CapabilityGrant, GrantRecord, GrantWrite, StandingGrant } from "../ports/grants.ts";
import type { Store } from "../ports/store.ts";
import type { Clock, Ids } from "../ports/time.ts";

/** What keeping grants needs of the house. */
export interface GrantHouse {
  readonly store: Pick<Store, "commit" | "grants">;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly bus: Bus;
  /** Without one no grant can be given. */
  readonly signer: GrantSigner | undefined;
  readonly capabilities: CapabilityTree;
  /** Told at once, so that the next decision of this process knows. */
  readonly shelf?: Pick<GrantShelf, "put"> | undefined;
  /** Ends the calls of this process that rest on any of the grants; resolves with their ids. */
  readonly endCalls?: ((grantIds: readonly string[], why: Failure) => string[]) | undefined;
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
 * The grants of a house: given, passed on and taken back, each change whole and on record or not made at all. Refusals
 * are failures and leave everything as it was; a lost store is thrown.
 */
export class GrantBook {
  readonly #house: GrantHouse;

  constructor(house: GrantHouse) {
    this.#house = house;
  }

  /** All of them, oldest first, the revoked and expired ones included. */
  list(): Promise<GrantRecord[]> {
    return this.#house.store.grants.all();
  }

  get(grantId: string): Promise<GrantRecord | undefined> {
    return this.#house.store.grants.get(grantId);
  }

  /** Gives a capability (RFC-0003). Refused with E3220 and every reason. */
  issue(draft: GrantDraft): Promise<CapabilityGrant | Failure> {
    return this.#give((office) => given(issueGrant(draft, office), "GRANT_ISSUED"));
  }

  /** Passes a part of a grant on. Refused with E3220 and every reason, or E3221. */
  delegate(parentGrantId: string, draft: DelegationDraft): Promise<CapabilityGrant | Failure> {
    return this.#give((office) => {
      const change = given(delegateGrant(parentGrantId, draft, office), "GRANT_DELEGATED");
      const parent = office.held.find(({ grantId }) => grantId === parentGrantId);
      if (isFailure(change) || !parent) return change;
      // Written too, so that a revocation at the same moment and this cannot both succeed unseen.
      const touched = { ...parent, revision: parent.revision + 1 };
      return { ...change, writes: [...change.writes, { record: touched, expect: parent.revision }] };
    });
  }

  /** Keeps an "always allow". Refused with E3220 when it has expired already or cannot be understood. */
  allow(draft: StandingDraft): Promise<StandingGrant | Failure> {
    return this.#give((office) => {
      const issues = standingIssues(draft, office.now);
      if (issues.length > 0) return notAllowed(issues);
      const fixed = { grantId: office.ids.next(), issuedAt: office.now, uses: 0, revision: 1 };
      return given(signGrant({ ...draft, ...fixed }, office.signer), "GRANT_ISSUED");
    });
  }

  /**
   * Takes a grant back, with everything that was delegated from it, in one unit, and ends the calls that rest on any
   * of them. Safe to repeat. Refused with E3221 when there is none, E3220 when the asker may not.
   */
  async revoke(grantId: string, { by, reason }: RevokeOrder): Promise<Revoked | Failure> {
    const word = { by: typeof by === "string" ? { id: by, operator: true } : by, reason };
    const cascade = await this.#change((office) => {
      const marked = revokeGrant(grantId, word, office);
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
    make: (office: GrantOffice) => Change<Grant> | Failure,
  ): Promise<Grant | Failure> {
    if (this.#house.signer) return await this.#change(make);
    return failure("E3227", { message: "There is no key to sign grants with." });
  }

  #end(revoked: readonly GrantRecord[], by: string): string[] {
    if (revoked.length === 0) return [];
    const ids = revoked.map(({ grantId }) => grantId);
    const message = `${by} revoked grant ${ids[0]}, on which the call rested.`;
    return this.#house.endCalls?.(ids, failure("E3217", { message, details: { grants: ids } })) ?? [];
  }

  /** Makes a change on what is stored now; again, from the beginning, when somebody else changed it meanwhile. */
  async #change<Result extends object>(
    make: (office: GrantOffice) => Change<Result> | Failure,
  ): Promise<Result | Failure> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const office = await this.#office();
      const change = make(office);
      if (isFailure(change)) return change;
      if (change.writes.length === 0 || (await this.#isCommitted(change, office.now))) return change.result;
    }
    return failure("E3222", {
      message: `The grants were changed by others ${ATTEMPTS} times meanwhile; nothing was done.`,
      advice: "Ask again.",
    });
  }

  async #office(): Promise<GrantOffice> {
    const { store, clock, ids, signer = NO_SIGNER, capabilities: tree } = this.#house;
    return { held: await store.grants.all(), tree, now: clock.now(), ids, signer };
  }

  async #isCommitted({ writes, events }: Change<unknown>, timestamp: number): Promise<boolean> {
    const { store, ids } = this.#house;
    const result = await store.commit({
      tenant: events[0]?.record.tenant ?? HOUSE_TENANT,
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
    const { bus, shelf } = this.#house;
    const idsOf = (isRevoked: boolean) =>
      events.flatMap(({ kind, record }) => ((kind === "GRANT_REVOKED") === isRevoked ? record.grantId : []));
    bus.publish("grants:updates", { changed: idsOf(false), revoked: idsOf(true) });
    for (const { record } of writes) shelf?.put(record);
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
