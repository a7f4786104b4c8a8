import { type Failure, failure, type Issue } from "@sallyport/protocol";
import type {
  CapabilityGrant,
  GrantConstraint,
  Grantee,
  GrantRecord,
  GrantScope,
} from "../../ports/grants.ts";
import type { Ids } from "../../ports/platform.ts";
import type { CapabilityTree } from "./capability-tree.ts";
import { looserThan, readConstraint } from "./constraint.ts";
import { completeScope, issuesOf, listIssues, scopeIssues, textProblem, widerIssues } from "./grant-scope.ts";
import { readGrant, refuseConditions, refuseLimits, refuseScope } from "./grant-use.ts";
import {
  type GrantSigner,
  type GrantSource,
  invalidity,
  isGenuine,
  MAX_DELEGATION_DEPTH,
  signGrant,
} from "./grant-validity.ts";

/** Who gives or takes a grant. An operator needs no grant for it; anybody else does. */
export interface Grantor {
  id: string;
  operator: boolean;
  /** What kind of holder it is; a user when left out. */
  type?: Grantee["type"];
}

/** What is asked for when a grant is issued. */
export interface GrantDraft {
  tenant: string;
  capabilityId: string;
  grantee: Grantee;
  grantor: Grantor;
  /** Left out: unrestricted. */
  scope?: Partial<GrantScope>;
  constraints?: GrantConstraint[];
  /** Left out: until it is revoked. */
  expiresAt?: number;
  delegatable?: boolean;
}

/** What is asked for when a grant is passed on; each part left out is the parent's. */
export interface DelegationDraft extends Omit<GrantDraft, "tenant" | "capabilityId"> {}

/** What giving a grant needs besides the draft. */
export interface GrantContext {
  /** Every grant there is. */
  held: readonly GrantRecord[];
  tree: CapabilityTree;
  now: number;
  ids: Ids;
  signer: GrantSigner;
}

const NO_ADMIN = "is no operator and holds no valid admin.capability.grant that covers this";
const GRANTEE_TYPES = ["TOOL", "USER", "ROLE"];

/** How long a delegated grant lives when nothing else is said. */
export const DEFAULT_DELEGATION_MS = 24 * 3_600_000;

/**
 * The signed grant, ready to be stored. Refused (E3220) with every reason: the capability is unknown or deprecated, the
 * giver has no authority, a prerequisite is missing, another capability conflicts, it expires before it begins, or part
 * of it cannot be understood: such a part would refuse everything later.
 */
export function issueGrant(draft: GrantDraft, context: GrantContext): CapabilityGrant | Failure {
  const { tenant, capabilityId, grantee, grantor, constraints = [], expiresAt } = draft;
  const scope = completeScope(draft.scope);
  const may = mayAdminister(grantor, { tenant, action: "grant", about: capabilityId }, context);
  const issues = [
    ...issuesOf(["/tenant", textProblem(tenant)]),
    ...partyIssues(draft),
    ...capabilityIssues(draft, context.tree),
    ...issuesOf(["/grantor", !may && `${grantor.id} ${NO_ADMIN}`]),
    ...fitIssues({ tenant, ...grantee }, capabilityId, context),
    ...issuesOf(["/expiresAt", expiryProblem(expiresAt, context.now)]),
    ...scopeIssues(scope, context.now),
    ...constraintIssues(constraints),
  ];
  if (issues.length > 0) return notGiven(`${capabilityId} cannot be granted to ${grantee.id}.`, issues);
  const terms = { tenant, capabilityId, scope, constraints, delegationDepth: 0 };
  return newGrant(draft, { ...terms, ...(expiresAt !== undefined && { expiresAt }) }, context);
}

/**
 * A narrower, shorter-lived grant under a parent, signed and ready to be stored. Refused with E3221 when there is no
 * such parent, and with E3220 and every reason when the child could do anything its parent could not: a child that
 * cannot be shown to be narrower is refused.
 */
export function delegateGrant(
  parentGrantId: string,
  draft: DelegationDraft,
  context: GrantContext,
): CapabilityGrant | Failure {
  const parent = capabilityGrants(context.held).find(({ grantId }) => grantId === parentGrantId);
  if (!parent) return failure("E3221", { message: `There is no capability grant ${parentGrantId}.` });
  const { tenant, capabilityId } = parent;
  const { now } = context;
  const parentEnd = parent.expiresAt ?? Number.POSITIVE_INFINITY;
  const { constraints = parent.constraints } = draft;
  const { expiresAt = Math.min(now + DEFAULT_DELEGATION_MS, parentEnd - 1) } = draft;
  const scope = completeScope({ ...parent.scope, ...draft.scope });
  const isTooLong = expiresAt >= parentEnd;
  const loose = looserThan(constraints.map(readConstraint), parent.constraints.map(readConstraint));
  const issues = [
    ...parentIssues(parent, draft.grantor, context),
    ...partyIssues(draft),
    ...fitIssues({ tenant, ...draft.grantee }, capabilityId, context),
    ...issuesOf(["/expiresAt", isTooLong ? "is not before the parent's" : expiryProblem(expiresAt, now)]),
    ...scopeIssues(scope, now),
    ...widerIssues(scope, parent.scope),
    ...constraintIssues(constraints),
    ...issuesOf(["/constraints", loose && `do not keep the parent's ${loose.type} at least as tight`]),
  ];
  if (issues.length > 0)
    return notGiven(`${parentGrantId} cannot be passed on to ${draft.grantee.id} like this.`, issues);
  const delegationDepth = parent.delegationDepth + 1;
  const terms = { tenant, capabilityId, scope, constraints, expiresAt, delegationDepth, parentGrantId };
  return newGrant(draft, terms, context);
}

function newGrant(
  { grantee, grantor, delegatable = false }: DelegationDraft,
  terms: Pick<CapabilityGrant, "tenant" | "capabilityId" | "scope" | "constraints" | "delegationDepth">,
  { ids, now, signer }: GrantContext,
): CapabilityGrant {
  return signGrant(
    {
      kind: "capability",
      grantId: ids.next(),
      ...terms,
      constraints: structuredClone(terms.constraints),
      grantee: { type: grantee.type, id: grantee.id },
      grantor: grantor.id,
      delegatable,
      issuedAt: now,
      uses: 0,
      revision: 1,
    },
    signer,
  );
}

/** The grants that change, the named one first; none when all of them were revoked before. */
interface Cascade {
  grant: GrantRecord;
  revoked: GrantRecord[];
}

/**
 * Marks a grant and everything that was delegated from it as revoked, from the root down. Doing it twice changes nothing.
 * Refused with E3221 when there is no such grant and with E3220 when the asker may not: that takes an operator, the one
 * who gave it, or a holder of `admin.capability.revoke`.
 */
export function revokeGrant(
  grantId: string,
  { by, reason }: { by: Grantor; reason: string },
  context: GrantContext,
): Cascade | Failure {
  const grant = context.held.find((record) => record.grantId === grantId);
  if (!grant) return failure("E3221", { message: `There is no grant ${grantId}.` });
  const about = grant.kind === "capability" ? grant.capabilityId : grant.tool;
  const may =
    by.id === grant.grantor || mayAdminister(by, { tenant: grant.tenant, action: "revoke", about }, context);
  const issues = issuesOf(
    ["/reason", textProblem(reason)],
    ["/by", textProblem(by.id)],
    ["/by", !may && `${by.id} did not give it and holds no valid admin.capability.revoke`],
  );
  if (issues.length > 0) return notGiven(`${grantId} cannot be revoked like this.`, issues);
  const marked = withDescendants(grant, context.held)
    .filter(({ revokedAt }) => revokedAt === undefined)
    .map((record) => ({
      ...record,
      revokedAt: context.now,
      revokedBy: by.id,
      revokedBecause: record === grant ? reason : `delegated from ${grantId}, which was revoked: ${reason}`,
      revision: record.revision + 1,
    }));
  return { grant: marked.find((record) => record.grantId === grantId) ?? grant, revoked: marked };
}

/** The grant and everything that was delegated from it, at any depth, parents before their children. */
function withDescendants(grant: GrantRecord, held: readonly GrantRecord[]): GrantRecord[] {
  const found = new Set([grant]);
  for (const parent of found) {
    for (const child of capabilityGrants(held)) {
      if (child.parentGrantId === parent.grantId && child.tenant === grant.tenant) found.add(child);
    }
  }
  return [...found];
}

/** An administrative act, and the capability, or the tool of a standing grant, that it is about. */
interface AdministrativeAct {
  tenant: string;
  action: "grant" | "revoke";
  about: string;
}

/** Whether somebody may do it: an operator, or the holder of a valid `admin.capability.*` that covers it. */
function mayAdminister(by: Grantor, act: AdministrativeAct, context: GrantContext): boolean {
  if (by.operator) return true;
  const holder = { tenant: act.tenant, type: by.type ?? "USER", id: by.id } as const;
  return validGrantsOf(holder, context).some(
    (grant) => grant.capabilityId === `admin.capability.${act.action}` && coversAct(grant, by, act, context),
  );
}

/** Uses are counted by what the giver has given; conditions on a request do not hold, because there is none. */
function coversAct(
  record: CapabilityGrant,
  by: Grantor,
  { action, about }: AdministrativeAct,
  { held, now: at }: GrantContext,
): boolean {
  const grant = readGrant({ ...record, uses: 0 }, true);
  const given = held.filter(({ grantor }) => grantor === by.id).map(({ issuedAt }) => issuedAt);
  for (const issuedAt of given.sort((a, b) => a - b)) grant.tally.use("", issuedAt);
  grant.tally.stored(given.length);
  const refused =
    refuseConditions([grant], { at, context: {}, location: {} }) ??
    refuseScope([grant], { action, resource: about }) ??
    refuseLimits([grant], { at }) ??
    refuseLimits([grant], { at, use: { resource: about } });
  return refused === undefined;
}

function partyIssues({ grantee, grantor }: Pick<GrantDraft, "grantee" | "grantor">): Issue[] {
  return issuesOf(
    ["/grantee/id", textProblem(grantee.id)],
    ["/grantor/id", textProblem(grantor.id)],
    ["/grantee/type", !GRANTEE_TYPES.includes(grantee.type) && "is not TOOL, USER or ROLE"],
  );
}

/** A capability must exist, be current, and be one that may be passed on when the grant says so. */
function capabilityIssues({ capabilityId, delegatable }: GrantDraft, tree: CapabilityTree): Issue[] {
  const capability = tree.get(capabilityId);
  if (!capability) return [{ path: "/capabilityId", reason: `there is no capability ${capabilityId}` }];
  const { deprecated, replacedBy } = capability.metadata;
  const isTooMuch = delegatable === true && !capability.delegatable;
  const instead = replacedBy === undefined ? {} : { suggestion: `Grant ${replacedBy} instead.` };
  return [
    ...(deprecated ? [{ path: "/capabilityId", reason: `${capabilityId} is deprecated`, ...instead }] : []),
    ...issuesOf(["/delegatable", isTooMuch && `${capabilityId} is never passed on`]),
  ];
}

function parentIssues(parent: CapabilityGrant, grantor: Grantor, context: GrantContext): Issue[] {
  const { grantee, delegatable, delegationDepth, capabilityId } = parent;
  const isHolder = grantee.id === grantor.id && grantee.type === (grantor.type ?? "USER");
  const mayPass = delegatable && context.tree.get(capabilityId)?.delegatable === true;
  const isTooDeep = delegationDepth >= MAX_DELEGATION_DEPTH;
  const mayGive = isHolder || grantor.operator;
  return issuesOf(
    ["/parent", invalidity(parent, sourceOf(context), context.now)],
    ["/parent", !mayPass && "may not be passed on"],
    ["/parent", isTooDeep && `has been passed on ${MAX_DELEGATION_DEPTH} times already`],
    ["/grantor", !mayGive && `${grantor.id} does not hold the parent grant and is no operator`],
  );
}

/** What the grantee lacks, or holds and must not, for one more capability. */
function fitIssues(holder: Holder, capabilityId: string, context: GrantContext): Issue[] {
  const has = new Set(validGrantsOf(holder, context).map((grant) => grant.capabilityId));
  const lacking = context.tree.requirementsOf(capabilityId).filter((required) => !has.has(required));
  const clashing = [...has].filter((other) => context.tree.conflict(capabilityId, other));
  return [
    ...lacking.map((required) => ({
      path: "/capabilityId",
      reason: `requires ${required}, of which ${holder.id} has no valid grant`,
      suggestion: `Grant ${required} first.`,
    })),
    ...clashing.map((other) => ({
      path: "/capabilityId",
      reason: `conflicts with ${other}, which ${holder.id} holds`,
    })),
  ];
}

function constraintIssues(constraints: readonly GrantConstraint[]): Issue[] {
  return listIssues("/constraints", constraints, (given) => readConstraint(given).problem);
}

export function expiryProblem(expiresAt: number | undefined, now: number): string | undefined {
  if (expiresAt === undefined) return undefined;
  if (!Number.isSafeInteger(expiresAt)) return "is not a moment";
  return expiresAt > now ? undefined : "is not in the future";
}

function notGiven(message: string, issues: Issue[]): Failure {
  return failure("E3220", { message, issues });
}

/** A grantee within its tenant. */
interface Holder extends Grantee {
  tenant: string;
}

/** A holder's grants that count now. */
function validGrantsOf({ tenant, type, id }: Holder, context: GrantContext): CapabilityGrant[] {
  const source = sourceOf(context);
  return capabilityGrants(context.held)
    .filter((grant) => grant.tenant === tenant && grant.grantee.type === type && grant.grantee.id === id)
    .filter((grant) => invalidity(grant, source, context.now) === undefined);
}

function sourceOf({ held, signer }: GrantContext): GrantSource {
  const byId = new Map(capabilityGrants(held).map((grant) => [grant.grantId, grant]));
  return { find: (grantId) => byId.get(grantId), isGenuine: (grant) => isGenuine(grant, signer) };
}

function capabilityGrants(records: readonly GrantRecord[]): CapabilityGrant[] {
  return records.filter((record) => record.kind === "capability");
}
