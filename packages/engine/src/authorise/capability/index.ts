export type { Capability, CapabilityMetadata } from "./builtin-capabilities.ts";
export { CONDITION_TYPES, type ConditionFacts } from "./condition.ts";
export { DEFAULT_DELEGATION_MS, delegateGrant } from "./delegate-grant.ts";
export type { DelegationDraft, GrantDraft, GrantOffice, Grantor } from "./grant-draft.ts";
export {
  GrantShelf,
  type HeldCapability,
  type Holding,
  type MeasuredUse,
  type MissingCapability,
  type MissingReason,
} from "./grant-shelf.ts";
export { MAX_DELEGATION_DEPTH } from "./grant-validity.ts";
export { issueGrant } from "./issue-grant.ts";
export type { GrantQuery } from "./judge-grant.ts";
export { type Cascade, type RevocationWord, revokeGrant } from "./revoke-grant.ts";
export { type GrantSigner, hmacSigner, isGenuine, signGrant } from "./sign-grant.ts";
export { type CapabilityDraft, CapabilityTree } from "./tree.ts";
