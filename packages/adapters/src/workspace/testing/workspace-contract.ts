import { changesContract } from "./changes-contract.ts";
import { commitContract } from "./commit-contract.ts";
import { conflictContract } from "./conflict-contract.ts";
import { heldContract } from "./held-contract.ts";
import { undoContract } from "./undo-contract.ts";
import type { ViewWorker } from "./view-workers.ts";

/** Everything the port promises, for one of the ways in which a call changes files. */
export function workspaceContract(worker: ViewWorker): void {
  changesContract(worker);
  commitContract(worker);
  conflictContract(worker);
  heldContract(worker);
  undoContract(worker);
}
