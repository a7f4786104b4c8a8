import { inCopy, inOverlay, inProcess } from "./testing/view-workers.ts";
import { workspaceContract } from "./testing/workspace-contract.ts";

workspaceContract(inProcess);
workspaceContract(inCopy);
workspaceContract(inOverlay);
