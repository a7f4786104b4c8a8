/** The states of one execution (R1-3), in the order a successful one passes through them. */
export const LIFECYCLE_STATES = [
  "DECLARED",
  "VALIDATED",
  "AUTHORIZED",
  "EXECUTING",
  "COMPLETED",
  "FAILED",
  "DENIED",
  "ABORTED",
  "ROLLED_BACK",
] as const;

export type LifecycleState = (typeof LIFECYCLE_STATES)[number];

/** Every edge there is. What is not listed here cannot be taken, nor expressed in the engine's types. */
export const LIFECYCLE_EDGES = {
  DECLARED: ["VALIDATED", "FAILED"],
  VALIDATED: ["AUTHORIZED", "DENIED", "ABORTED"],
  AUTHORIZED: ["EXECUTING", "ABORTED"],
  EXECUTING: ["COMPLETED", "ABORTED", "ROLLED_BACK"],
  ABORTED: ["ROLLED_BACK"],
  COMPLETED: [],
  FAILED: [],
  DENIED: [],
  ROLLED_BACK: [],
} as const satisfies Record<LifecycleState, readonly LifecycleState[]>;

export type TerminalState = {
  [State in LifecycleState]: (typeof LIFECYCLE_EDGES)[State] extends readonly [] ? State : never;
}[LifecycleState];

export function isTerminal(state: LifecycleState): state is TerminalState {
  return LIFECYCLE_EDGES[state].length === 0;
}

export const CALL_STATUSES = [
  "pending",
  "running",
  "success",
  "error",
  "timeout",
  "cancelled",
  "permission_denied",
  "pending_approval",
] as const;
/** How a call stands, in L3's words. */
export type CallStatus = (typeof CALL_STATUSES)[number];
