import { describe } from "vitest";
import { approvalsContract, consentContract } from "./store-contract-approvals.ts";
import { changesContract } from "./store-contract-changes.ts";
import { commitContract } from "./store-contract-commit.ts";
import {
  fenceContract,
  instancesContract,
  queuedWorkContract,
  workContract,
} from "./store-contract-fleet.ts";
import { grantsContract, revisionContract, revocationsContract } from "./store-contract-grants.ts";
import { lifetimeContract } from "./store-contract-lifetime.ts";
import { oracleContract } from "./store-contract-oracle.ts";
import { outboxContract, partitionsContract } from "./store-contract-outbox.ts";
import { raceContract } from "./store-contract-races.ts";
import { auditContract, callbacksContract, callsContract, toolsContract } from "./store-contract-reads.ts";
import { recordsContract } from "./store-contract-records.ts";
import { stateContract } from "./store-contract-state.ts";
import { queueContract, suspendedContract } from "./store-contract-suspended.ts";
import { type StoreFixture, type StoreTest, storeTest } from "./store-samples.ts";

const PARTS: Record<string, (it: StoreTest) => void> = {
  "a unit of work": commitContract,
  "of many units at once": raceContract,
  "the journal": callsContract,
  "a call that is waiting": (it) => suspendedContract(it, "waiting"),
  "a call that is queued": (it) => suspendedContract(it, "queued"),
  "the queue": queueContract,
  "a callback": callbacksContract,
  records: recordsContract,
  approvals: approvalsContract,
  "a call and its approval": consentContract,
  grants: grantsContract,
  "revoked tokens": revocationsContract,
  revisions: revisionContract,
  "changes behind a cursor": changesContract,
  "transactional state": stateContract,
  "the audit record": auditContract,
  "the outbox": outboxContract,
  "partitions of tenants": partitionsContract,
  "tool versions": toolsContract,
  "the instances": instancesContract,
  "a run of a call": fenceContract,
  "queued work": queuedWorkContract,
  "other work": workContract,
  "closing and opening again": lifetimeContract,
  "a store beside the oracle": oracleContract,
};

/** What every store must do, as one suite: registers tests under `name` for stores that `make` makes. */
export function storeContract(name: string, make: () => Promise<StoreFixture>): void {
  describe(`${name} keeps the store contract`, () => {
    const it = storeTest(make);
    for (const [what, part] of Object.entries(PARTS)) describe(what, () => part(it));
  });
}
