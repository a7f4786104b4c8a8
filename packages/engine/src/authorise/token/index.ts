export {
  type ApprovalPass,
  mintApprovalToken,
  readApprovalToken,
} from "./approval-token.ts";
export { APPROVAL_ISSUER, type TokenQuery, type TokenRules } from "./claim-checks.ts";
export {
  type CheckReport,
  type InspectOptions,
  inspectToken,
  type TokenInspection,
} from "./inspect-token.ts";
export { KeySet, keySetOf, type VerificationKey } from "./key-set.ts";
export { type MintClaims, mintToken, type SigningKey } from "./mint-token.ts";
export { beyondAgent } from "./permission-subset.ts";
export { type KeyReading, keysFromJwks, keysFromPem, thumbprint } from "./read-keys.ts";
export {
  createTokenChecker,
  DEFAULT_TOKEN_RULES,
  TokenChecker,
  type TokenCheckerOptions,
} from "./token-checker.ts";
export { type VerifiedToken, verifyToken } from "./verify-token.ts";
