import { afterEach, describe } from "vitest";
import type { Store } from "../ports/store.ts";
import { approvalModelContract } from "./store-contract-approval-model.ts";
import { approvalsContract } from "./store-contract-approvals.ts";
import { auditContract } from "./store-contract-audit.ts";
import { callbacksContract } from "./store-contract-callbacks.ts";
import { callsContract } from "./store-contract-calls.ts";
import { commitContract } from "./store-contract-commit.ts";
import { consentContract } from "./store-contract-consent.ts";
import { grantsContract } from "./store-contract-grants.ts";
import { lifetimeContract } from "./store-contract-lifetime.ts";
import { outboxContract } from "./store-contract-outbox.ts";
import { queueContract } from "./store-contract-queue.ts";
import { queueExitContract } from "./store-contract-queue-exits.ts";
import { queueModelContract } from "./store-contract-queue-model.ts";
import { raceContract } from "./store-contract-races.ts";
import { revocationsContract } from "./store-contract-revocations.ts";
import { stateContract } from "./store-contract-state.ts";
import { stateModelContract } from "./store-contract-state-model.ts";
import { toolsContract } from "./store-contract-tools.ts";
import { waitingContract } from "./store-contract-waiting.ts";

/** One empty store. `reopen` closes it and opens what it left behind; absent when nothing survives. */
export interface StoreFixture {
  store: Store;
  reopen?: () => Promise<Store>;
  /** Closes the store, also one reopened, and removes every trace. */
  dispose(): Promise<void>;
}

/** Gives a test its own store and disposes of it afterwards, however the test ended. */
export type OpenFixture = () => Promise<StoreFixture>;

/** What every store must do, as one suite: registers tests under `name` for stores that `make` makes. */
export function storeContract(name: string, make: () => Promise<StoreFixture>): void {
  describe(`${name} keeps the store contract`, () => {
    const open = disposedAfterEach(make);
    commitContract(open);
    raceContract(open);
    callsContract(open);
    waitingContract(open);
    queueContract(open);
    queueExitContract(open);
    queueModelContract(open);
    callbacksContract(open);
    approvalsContract(open);
    consentContract(open);
    approvalModelContract(open);
    grantsContract(open);
    revocationsContract(open);
    stateContract(open);
    stateModelContract(open);
    auditContract(open);
    outboxContract(open);
    toolsContract(open);
    lifetimeContract(open);
  });
}

function disposedAfterEach(make: () => Promise<StoreFixture>): OpenFixture {
  const made: StoreFixture[] = [];
  afterEach(async () => {
    for (const fixture of made.splice(0)) await fixture.dispose();
  });
  return async () => {
    const fixture = await make();
    made.push(fixture);
    return fixture;
  };
}
