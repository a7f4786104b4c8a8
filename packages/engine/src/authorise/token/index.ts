export { type ApprovalPass, mintApprovalToken, readApprovalToken } from "./approval-token.ts";
export { type MintClaims, mintToken } from "./claims.ts";
export { type SigningKey, verifyToken } from "./jws.ts";
export {
  KeySet,
  keySetOf,
  keysFromJwks,
  keysFromPem,
  thumbprint,
  type VerificationKey,
} from "./keys.ts";
export { TokenChecker, type TokenCheckerOptions } from "./token-checker.ts";
export {
  APPROVAL_ISSUER,
  type CheckReport,
  DEFAULT_TOKEN_RULES,
  inspectToken,
  type TokenInspection,
  type TokenQuery,
  type TokenRules,
} from "./token-checks.ts";
