import type { Issue } from "@sallyport/protocol";
import type { GrantConstraint, Grantee, GrantRecord, GrantScope } from "../../ports/grants.ts";
import type { Ids } from "../../ports/time.ts";
import { readCondition } from "./condition.ts";
import { readConstraint } from "./constraints.ts";
import { hasDotSegments } from "./resource-match.ts";
import type { GrantSigner } from "./sign-grant.ts";
import type { CapabilityTree } from "./tree.ts";

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
export interface GrantOffice {
  /** Every grant there is. */
  held: readonly GrantRecord[];
  tree: CapabilityTree;
  now: number;
  ids: Ids;
  signer: GrantSigner;
}

const MAX_TEXT_CHARS = 512;
const MAX_ITEMS = 100;

export function completeScope(scope: Partial<GrantScope> = {}): GrantScope {
  const { resources = [], actions = [], conditions = [] } = scope;
  return {
    resources: [...resources],
    actions: [...actions],
    conditions: conditions.map(({ type, expression }) => ({ type, expression })),
  };
}

/** What cannot be understood in a scope, each place by its pointer into the draft. */
export function scopeIssues({ resources, actions, conditions }: GrantScope, now: number): Issue[] {
  return [
    ...listIssues("/scope/resources", resources, resourceProblem),
    ...listIssues("/scope/actions", actions, textProblem),
    ...listIssues("/scope/conditions", conditions, (given) => {
      const condition = readCondition(given);
      if (condition.problem !== undefined || condition.type !== "TIME") return condition.problem;
      const told = condition.evaluate({ at: now, context: {}, location: {} });
      return told.ok ? undefined : told.reason;
    }),
  ];
}

export function constraintIssues(constraints: readonly GrantConstraint[]): Issue[] {
  return listIssues("/constraints", constraints, (given) => readConstraint(given).problem);
}

export function partyIssues({ grantee, grantor }: Pick<GrantDraft, "grantee" | "grantor">): Issue[] {
  const texts = { "/grantee/id": grantee.id, "/grantor/id": grantor.id };
  const issues = Object.entries(texts).flatMap(([path, text]) => issueAt(path, textProblem(text)));
  const isKnown = ["TOOL", "USER", "ROLE"].includes(grantee.type);
  return isKnown ? issues : [...issues, { path: "/grantee/type", reason: "is not TOOL, USER or ROLE" }];
}

export function textProblem(text: unknown): string | undefined {
  if (typeof text !== "string" || text.trim() === "") return "is empty";
  if (text.length > MAX_TEXT_CHARS) return `is longer than ${MAX_TEXT_CHARS} characters`;
  return text.isWellFormed() ? undefined : "is not well-formed Unicode";
}

export function issueAt(path: string, reason: string | undefined): Issue[] {
  return reason === undefined ? [] : [{ path, reason }];
}

function resourceProblem(glob: string): string | undefined {
  return textProblem(glob) ?? (hasDotSegments(glob) ? "has . or .. between its slashes" : undefined);
}

function listIssues<Item>(
  path: string,
  items: readonly Item[],
  problem: (item: Item) => string | undefined,
): Issue[] {
  if (items.length > MAX_ITEMS) return [{ path, reason: `has more than ${MAX_ITEMS} entries` }];
  return items.flatMap((item, index) => issueAt(`${path}/${index}`, problem(item)));
}
