import type { Engine } from "@sallyport/engine";

type Reads = "get";

/** What a person at the command line may ask of a house, whether it is open here or in another process. */
export interface HouseDesk
  extends Pick<Engine, "call" | "resume" | "undo" | "closeByPerson" | "revokeToken"> {
  readonly approvals: Pick<Engine["approvals"], Reads | "approve" | "deny" | "edit">;
  readonly grants: Pick<Engine["grants"], Reads | "list" | "issue" | "delegate" | "revoke">;
  readonly tools: Pick<Engine["tools"], "deprecate" | "remove" | "quarantine" | "release"> & {
    list(): ReturnType<Engine["tools"]["list"]> | Promise<ReturnType<Engine["tools"]["list"]>>;
  };
}
