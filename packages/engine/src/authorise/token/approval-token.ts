import { type Failure, isFailure, type JsonObject } from "@sallyport/protocol";
import { APPROVAL_ISSUER, expiryProblem } from "./claim-checks.ts";
import { ClaimReader, dateOf } from "./claim-reader.ts";
import { lacking } from "./claims.ts";
import { invalidToken } from "./compact-token.ts";
import type { KeySet } from "./key-set.ts";
import { inSeconds, type SigningKey, signToken } from "./mint-token.ts";
import { verifyToken } from "./verify-token.ts";

/** Lets one approver answer one approval, at one level, until it expires. */
export interface ApprovalPass {
  approvalId: string;
  callId: string;
  tool: string;
  approver: string;
  level: number;
  expiresAt: number;
}

/** House clocks may differ by this much between two replicas. */
const SKEW_MS = 30_000;

/** A signed token for an approver. Throws when the key cannot sign. */
export function mintApprovalToken(pass: ApprovalPass & { issuedAt: number }, key: SigningKey): string {
  return signToken(
    {
      invocation_id: pass.callId,
      tool_id: pass.tool,
      approver: pass.approver,
      approval_level: pass.level,
      exp: inSeconds(pass.expiresAt),
      iat: inSeconds(pass.issuedAt),
      iss: APPROVAL_ISSUER,
      jti: pass.approvalId,
    },
    key,
  );
}

/**
 * What an approval token says, once it is verified: E3201, E3202 or E3207 otherwise. Give it the house's own keys
 * alone: an outside issuer that may sign for calls has no say in approvals. Whether the approval is still open, and
 * the approver one of its level, is for the approval's record to say.
 */
export function readApprovalToken(token: string, keys: KeySet, at: number): ApprovalPass | Failure {
  const verified = verifyToken(token, keys);
  if (isFailure(verified)) return verified;
  const { payload, key } = verified;
  if (payload.iss !== APPROVAL_ISSUER || key.issuers?.includes(APPROVAL_ISSUER) === false)
    return invalidToken("This is not an approval token.", "Send the token that came with the approval.");
  const expiresAt = dateOf(payload.exp);
  const expired = expiresAt !== undefined && expiryProblem(expiresAt, at, 0);
  return expired || readPass(payload, at);
}

function readPass(payload: JsonObject, at: number): ApprovalPass | Failure {
  const reader = new ClaimReader(payload);
  const issuedAt = reader.date("iat");
  const pass = {
    approvalId: reader.text("jti"),
    callId: reader.text("invocation_id"),
    tool: reader.text("tool_id"),
    approver: reader.text("approver"),
    level: readLevel(reader),
    expiresAt: reader.date("exp"),
  };
  if (reader.issues.length > 0) return lacking(reader);
  return issuedAt <= at + SKEW_MS ? pass : invalidToken("The approval token was issued in the future.");
}

function readLevel(reader: ClaimReader): number {
  const level = reader.get("approval_level");
  if (typeof level === "number" && Number.isSafeInteger(level) && level >= 0) return level;
  reader.note("approval_level", level, "is not a whole number");
  return 0;
}
