import type { Failure, Risk } from "@sallyport/protocol";

/** Why a person is asked: a policy wants it, the tool always does, or whoever calls asked for it. */
export type AskedBecause = "policy" | "tool" | "caller";

/** What would become of a call if it were made now. Nothing has run, nobody was asked, nothing is on record. */
export type CallPlan =
  | { kind: "refused"; error: Failure }
  | { kind: "run"; summary: string; risk: Risk }
  | { kind: "ask"; because: AskedBecause; summary: string; risk: Risk };
