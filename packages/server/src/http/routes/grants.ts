import type { CapabilityGrant, GrantRecord, StandingGrant } from "@sallyport/engine/ports";
import {
  type CapabilityGrantMessage,
  defined,
  failure,
  type GRANT_STATES,
  type GrantMessage,
  type GrantRevokeResponse,
  grantField,
  grantListQueryField,
  grantListResponseField,
  grantParamsField,
  grantRevokeQueryField,
  grantRevokeResponseField,
  SallyportError,
  type StandingGrantMessage,
} from "@sallyport/protocol";
import { must } from "../../must.ts";
import { defineRoute, type Route } from "../route.ts";
import { iso, isoIfAny } from "./iso-time.ts";
import { operatorName } from "./operator-name.ts";
import type { RouteContext } from "./parts.ts";

/** `/v1/grants…`: what is allowed beforehand. */
export function grantRoutes(parts: RouteContext): Route[] {
  return [listRoute(parts), showRoute(parts), revokeRoute(parts)];
}

function listRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "listGrants",
    method: "GET",
    path: "/v1/grants",
    tag: "Grants",
    summary: "List grants",
    description: "Oldest first; those in force, unless another state is asked for.",
    access: "operator",
    query: grantListQueryField,
    answers: { 200: { description: "The grants.", schema: grantListResponseField } },
    handle: async ({ query }) => {
      const { kind, state = "in_force" } = query;
      const now = parts.clock.now();
      const grants = (await parts.engine.grants.list()).filter(
        (record) =>
          (kind === undefined || record.kind === kind) &&
          (state === "any" || grantState(record, now) === state),
      );
      return { status: 200, body: { grants: grants.map((record) => grantView(record, now)) } };
    },
  });
}

function showRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "getGrant",
    method: "GET",
    path: "/v1/grants/{grant_id}",
    tag: "Grants",
    summary: "Show one grant",
    access: "operator",
    params: grantParamsField,
    answers: { 200: { description: "The grant.", schema: grantField } },
    handle: async ({ params }) => {
      const record = await parts.engine.grants.get(params.grant_id);
      if (!record) throw new SallyportError(unknownGrant(params.grant_id));
      return { status: 200, body: grantView(record, parts.clock.now()) };
    },
  });
}

function revokeRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "revokeGrant",
    method: "DELETE",
    path: "/v1/grants/{grant_id}",
    tag: "Grants",
    summary: "Take a grant back",
    description:
      "With everything that was delegated from it; running calls that rest on it end. Safe to repeat.",
    access: "operator",
    params: grantParamsField,
    query: grantRevokeQueryField,
    answers: { 200: { description: "What was taken back.", schema: grantRevokeResponseField } },
    handle: async ({ params, query, principal }) => {
      const order = { by: operatorName(principal), reason: query.reason ?? "revoked by an operator" };
      const done = must(await parts.engine.grants.revoke(params.grant_id, order));
      const body: GrantRevokeResponse = {
        grant: grantView(done.grant, parts.clock.now()),
        revoked: done.revoked.map(({ grantId }) => grantId),
        ended_invocations: [...done.ended],
      };
      return { status: 200, body };
    },
  });
}

function unknownGrant(grantId: string) {
  const message = `There is no grant ${grantId.slice(0, 128)}.`;
  return failure("E3221", { message, advice: "List them at /v1/grants to find the id." });
}

/** How a grant stands, as far as its own dates say. */
function grantState({ revokedAt, expiresAt }: GrantRecord, now: number): (typeof GRANT_STATES)[number] {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "in_force";
}

/** A grant as the API shows it: without its signature, which only the server can check. */
function grantView(record: GrantRecord, now: number): GrantMessage {
  return record.kind === "capability" ? capabilityView(record, now) : standingView(record, now);
}

function facts(record: GrantRecord, now: number) {
  return {
    grant_id: record.grantId,
    state: grantState(record, now),
    tenant_id: record.tenant,
    grantor: record.grantor,
    issued_at: iso(record.issuedAt),
    ...defined({
      expires_at: isoIfAny(record.expiresAt),
      revoked_at: isoIfAny(record.revokedAt),
      revoked_by: record.revokedBy,
      revoked_because: record.revokedBecause,
      last_used_at: isoIfAny(record.lastUsedAt),
    }),
    uses: record.uses,
  };
}

function capabilityView(record: CapabilityGrant, now: number): CapabilityGrantMessage {
  const { resources, actions, conditions } = record.scope;
  return {
    ...facts(record, now),
    kind: "capability",
    capability_id: record.capabilityId,
    grantee: { type: record.grantee.type, id: record.grantee.id },
    scope: {
      resources: [...resources],
      actions: [...actions],
      conditions: conditions.map(({ type, expression }) => ({ type, expression })),
    },
    constraints: record.constraints.map(({ type, value }) => ({ type, value })),
    delegatable: record.delegatable,
    delegation_depth: record.delegationDepth,
    ...defined({ parent_grant_id: record.parentGrantId }),
  };
}

function standingView(record: StandingGrant, now: number): StandingGrantMessage {
  return {
    ...facts(record, now),
    kind: "standing",
    tier: record.tier,
    tool_id: record.tool,
    versions: record.versions,
    operations: [...record.operations],
    arguments: record.arguments.map(({ pointer, match }) => ({ pointer, match })),
    agent_did: record.agent,
    ...defined({ session_id: record.session, project: record.project, approval_id: record.approvalId }),
  };
}
