export const CALLBACK_STATES = ["due", "delivered", "given_up"] as const;
export type CallbackState = (typeof CALLBACK_STATES)[number];

/** That somebody wants to be told how a call ended, and how far that has come. */
export interface Callback {
  callId: string;
  tenant: string;
  url: string;
  state: CallbackState;
  /** Deliveries begun so far; each write counts on from the one it was made on. */
  attempts: number;
  /** When it is to be tried next; while one is under way, when others may take it for lost. */
  dueAt: number;
  /** Why the last delivery failed. */
  problem?: string;
}

export interface CallbackWrite {
  callback: Callback;
  /** The number of attempts the change was made on; undefined for a new one. */
  expect?: number;
}

export interface CallbackReader {
  /** Due by then, the longest overdue first. */
  due(by: number, limit: number): Promise<Callback[]>;
  ofCall(callId: string): Promise<Callback | undefined>;
}
