import { describe } from "vitest";
import { approvalsContract, consentContract } from "./store-contract-approvals.ts";
import { callbacksContract } from "./store-contract-callbacks.ts";
import { commitContract, raceContract } from "./store-contract-commit.ts";
import { grantsContract, revisionContract, revocationsContract } from "./store-contract-grants.ts";
import { lifetimeContract } from "./store-contract-lifetime.ts";
import { oracleContract } from "./store-contract-oracle.ts";
import { auditContract, callsContract, outboxContract, toolsContract } from "./store-contract-reads.ts";
import { stateContract } from "./store-contract-state.ts";
import { suspendedContract } from "./store-contract-suspended.ts";
import { type StoreFixture, storeTest } from "./store-samples.ts";

const PARTS = [
  commitContract,
  raceContract,
  callsContract,
  suspendedContract,
  callbacksContract,
  approvalsContract,
  consentContract,
  grantsContract,
  revocationsContract,
  revisionContract,
  stateContract,
  auditContract,
  outboxContract,
  toolsContract,
  lifetimeContract,
  oracleContract,
];

/** What every store must do, as one suite: registers tests under `name` for stores that `make` makes. */
export function storeContract(name: string, make: () => Promise<StoreFixture>): void {
  describe(`${name} keeps the store contract`, () => {
    const it = storeTest(make);
    for (const part of PARTS) part(it);
  });
}
