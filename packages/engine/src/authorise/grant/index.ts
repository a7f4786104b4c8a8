export { type CapabilityDraft, CapabilityTree } from "./capability-tree.ts";
export {
  type DelegationDraft,
  delegateGrant,
  expiryProblem,
  type GrantContext,
  type GrantDraft,
  type Grantor,
  issueGrant,
  revokeGrant,
} from "./grant-changes.ts";
export { GrantFollower } from "./grant-follower.ts";
export { GrantIndex, type HeldCapabilities, NO_GRANT } from "./grant-index.ts";
export { coversResource, isInside, issuesOf, textProblem } from "./grant-scope.ts";
export { limitFailure, limitReached } from "./grant-use.ts";
export { type GrantSigner, hmacSigner, isGenuine, signGrant } from "./grant-validity.ts";
