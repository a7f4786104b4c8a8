import type { Permissions } from "@sallyport/protocol";

/** What a verified capability token says (L3 §4.1.1). The token's own text is never kept. */
export interface TokenClaims {
  /** Names the token, so that it can be revoked. */
  jti: string;
  issuer: string;
  /** The key it was verified with: once that is not in force any more, neither is what the token said. */
  kid: string;
  /** Tool id, or a pattern with `*`. */
  tool: string;
  /** SemVer range of the tool's versions. */
  versions: string;
  agent: string;
  tenant: string;
  operations: string[];
  permissions: Permissions;
  issuedAt: number;
  expiresAt: number;
}

/** A token that is not accepted any more, whatever it says. */
export interface Revocation {
  jti: string;
  revokedAt: number;
  by: string;
  reason: string;
  /** From here on the token has expired anyway and the entry may be forgotten. */
  forgetAt: number;
}

export interface RevocationReader {
  /** Every revocation that has not been forgotten. */
  all(): Promise<Revocation[]>;
}
