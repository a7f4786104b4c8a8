import type { Failure, JsonValue } from "@sallyport/protocol";

/** Changes when the words below do; both ends have to speak the same. */
export const DESK_VERSION = 3;

/** The methods of a server desk that can be asked for from another process. */
export const DESK_METHODS = [
  "call",
  "resume",
  "running",
  "goesOnByItself",
  "undo",
  "closeByPerson",
  "revokeToken",
  "approvals.get",
  "approvals.approve",
  "approvals.deny",
  "approvals.edit",
  "grants.get",
  "grants.list",
  "grants.issue",
  "grants.delegate",
  "grants.revoke",
  "events.drop",
  "tools.list",
  "tools.deprecate",
  "tools.remove",
  "tools.quarantine",
  "tools.release",
] as const;

export type DeskMethod = (typeof DESK_METHODS)[number];

/** The first word, from the server. */
export interface Greeting {
  sallyport: string;
  desk: number;
}

/** From the command line. A question that is cancelled is answered all the same. */
export type ToDesk = { ask: number; method: DeskMethod; given: readonly unknown[] } | { cancel: number };

/** From the server: what the method gave, or why it gave nothing. */
export type FromDesk = { answer: number; value?: JsonValue } | { answer: number; refused: Failure };
