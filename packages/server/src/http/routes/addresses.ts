/** Where a call can be asked about. */
export function invocationUrl(origin: string, callId: string): string {
  return `${origin}/v1/invocations/${encodeURIComponent(callId)}`;
}

export function approvalUrl(origin: string, approvalId: string): string {
  return `${origin}/v1/approvals/${encodeURIComponent(approvalId)}`;
}
