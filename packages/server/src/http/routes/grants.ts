import {
  failure,
  type GrantListQuery,
  type GrantRevokeQuery,
  type GrantRevokeResponse,
  grantField,
  grantListQueryField,
  grantListResponseField,
  grantParamsField,
  grantRevokeQueryField,
  grantRevokeResponseField,
  SallyportError,
} from "@sallyport/protocol";
import { defineRoute, type Route } from "../route.ts";
import { grantState, grantView } from "./grant-views.ts";
import { must } from "./must.ts";
import { operatorName } from "./operator-name.ts";
import type { DoorParts } from "./parts.ts";

interface GrantParams {
  grant_id: string;
}

/** `/v1/grants…`: what is allowed beforehand. */
export function grantRoutes(parts: DoorParts): Route[] {
  return [listRoute(parts), showRoute(parts), revokeRoute(parts)];
}

function listRoute(parts: DoorParts): Route {
  return defineRoute<undefined, GrantListQuery, undefined>({
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

function showRoute(parts: DoorParts): Route {
  return defineRoute<GrantParams, undefined, undefined>({
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

function revokeRoute(parts: DoorParts): Route {
  return defineRoute<GrantParams, GrantRevokeQuery, undefined>({
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
