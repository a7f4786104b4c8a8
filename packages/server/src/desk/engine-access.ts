import type { Engine } from "@sallyport/engine";

type Reads = "get";
type OrPromise<Value> = Value | Promise<Value>;

/** What a person at the command line may ask of a server, whether it is open here or in another process. */
export interface EngineAccess
  extends Pick<Engine, "call" | "resume" | "goesOnByItself" | "undo" | "closeByPerson" | "revokeToken"> {
  running(...filter: Parameters<Engine["running"]>): OrPromise<ReturnType<Engine["running"]>>;
  readonly approvals: Pick<Engine["approvals"], Reads | "approve" | "deny" | "edit">;
  readonly grants: Pick<Engine["grants"], Reads | "list" | "issue" | "delegate" | "revoke">;
  readonly events: Pick<Engine["events"], "drop">;
  readonly tools: Pick<Engine["tools"], "deprecate" | "remove" | "quarantine" | "release"> & {
    list(): OrPromise<ReturnType<Engine["tools"]["list"]>>;
  };
}
