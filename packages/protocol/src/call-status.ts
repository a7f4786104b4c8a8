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
