import { count, type Failure, type Issue, isFailure, record } from "@sallyport/protocol";
import { claimDate, claimText, dateMs, dateSeconds, expiryOf, wrongClaims } from "./claims.ts";
import { invalidToken, type SigningKey, signToken, verifyToken } from "./jws.ts";
import type { KeySet } from "./keys.ts";
import { APPROVAL_ISSUER, expiryProblem } from "./token-checks.ts";

/** Lets one approver answer one approval, at one level, until it expires. */
export interface ApprovalPass {
  approvalId: string;
  callId: string;
  tool: string;
  approver: string;
  level: number;
  expiresAt: number;
}

/** How far the clocks of two replicas may differ. */
const SKEW_MS = 30_000;

const approvalClaims = record({
  invocation_id: claimText(),
  tool_id: claimText(),
  approver: claimText(),
  approval_level: count,
  exp: claimDate,
  iat: claimDate,
  jti: claimText(),
});

/** A signed token for an approver. Throws when the key cannot sign. */
export function mintApprovalToken(pass: ApprovalPass & { issuedAt: number }, key: SigningKey): string {
  return signToken(
    {
      invocation_id: pass.callId,
      tool_id: pass.tool,
      approver: pass.approver,
      approval_level: pass.level,
      exp: dateSeconds(pass.expiresAt),
      iat: dateSeconds(pass.issuedAt),
      iss: APPROVAL_ISSUER,
      jti: pass.approvalId,
    },
    key,
  );
}

/**
 * What a verified approval token says; E3201, E3202 or E3207 otherwise. Give it only the runtime's own keys: an outside
 * issuer that may sign for calls has no say in approvals. Whether the approval is still open, and the approver one of its
 * level, is for the approval's record to say.
 */
export function readApprovalToken(token: string, keys: KeySet, at: number): ApprovalPass | Failure {
  const verified = verifyToken(token, keys);
  if (isFailure(verified)) return verified;
  const { payload, key } = verified;
  if (payload.iss !== APPROVAL_ISSUER || key.issuers?.includes(APPROVAL_ISSUER) === false)
    return invalidToken("This is not an approval token.", "Send the token that came with the approval.");
  const expiresAt = expiryOf(payload);
  const expired = expiresAt !== undefined && expiryProblem(expiresAt, at, 0);
  if (expired) return expired;
  const issues: Issue[] = [];
  if (!approvalClaims(payload, "", issues)) return wrongClaims(issues);
  if (dateMs(payload.iat) > at + SKEW_MS) return invalidToken("The approval token was issued in the future.");
  return {
    approvalId: payload.jti,
    callId: payload.invocation_id,
    tool: payload.tool_id,
    approver: payload.approver,
    level: payload.approval_level,
    expiresAt: dateMs(payload.exp),
  };
}
