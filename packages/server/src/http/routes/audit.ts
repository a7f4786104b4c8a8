import { type ChainReport, verifyChain } from "@sallyport/engine";
import { exportEntry } from "@sallyport/engine/host";
import {
  type AuditChain,
  type AuditPage,
  type AuditQuery,
  type AuditVerification,
  auditPageField,
  auditQueryField,
  auditVerificationField,
  auditVerifyQueryField,
  defined,
  failure,
  SallyportError,
} from "@sallyport/protocol";
import { defineRoute, type Route } from "../route.ts";
import type { RouteContext } from "./parts.ts";

/** `GET /v1/audit…`: the record that cannot be changed unseen. */
export function auditRoutes(parts: RouteContext): Route[] {
  return [readRoute(parts), verifyRoute(parts)];
}

function readRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "readAudit",
    method: "GET",
    path: "/v1/audit",
    tag: "Audit",
    summary: "Read a tenant's audit events",
    description:
      "In the order of the chain, one strand at a time; `strands` names those there are. Units of work come whole: each of their events carries the unit's link, so that an export can be checked offline.",
    access: "operator",
    query: auditQueryField,
    answers: { 200: { description: "A part of the chain.", schema: auditPageField } },
    handle: async ({ query }) => ({ status: 200, body: await auditPage(query, parts) }),
  });
}

async function auditPage(query: AuditQuery, { audit, caller }: RouteContext): Promise<AuditPage> {
  const tenant = query.tenant ?? caller.tenant;
  const limit = Number(query.limit ?? 100);
  const strand = Number(query.strand ?? 0);
  const entries = await audit.read(tenant, { strand, after: Number(query.after ?? 0), limit });
  const last = entries.at(-1);
  return {
    tenant_id: tenant,
    strand,
    strands: (await audit.heads(tenant)).map((head) => ({ ...head })),
    events: entries.flatMap(exportEntry).map((event) => ({ ...event })),
    ...(entries.length >= limit && last && { next_after: last.sequence }),
  };
}

function verifyRoute(parts: RouteContext): Route {
  return defineRoute({
    id: "verifyAudit",
    method: "GET",
    path: "/v1/audit:verify",
    tag: "Audit",
    summary: "Check the audit chains",
    description:
      "Reads whole chains and says where anything was changed, removed or put in. A tenant that has no chain is answered with 404.",
    access: "operator",
    query: auditVerifyQueryField,
    answers: { 200: { description: "What was found.", schema: auditVerificationField } },
    handle: async ({ query, signal }) => {
      const chains: AuditChain[] = [];
      const tenants =
        query.tenant === undefined ? await parts.audit.tenants() : [await knownTenant(query.tenant, parts)];
      for (const tenant of tenants) {
        signal.throwIfAborted();
        chains.push(chainView(await verifyChain(parts.audit, tenant)));
      }
      const problems = query.tenant === undefined ? ((await parts.audit.strays?.()) ?? []) : [];
      const verified = problems.length === 0 && chains.every(isSound);
      const body: AuditVerification = { verified, problems, chains };
      return { status: 200, body };
    },
  });
}

/** Nothing to check is not the same as nothing wrong: the name may be misspelt. Throws E3917. */
async function knownTenant(tenant: string, { audit }: RouteContext): Promise<string> {
  // A chain that lost its events still has its newest link on record, and one that lost that has events.
  if ((await audit.strands(tenant)).length > 0) return tenant;
  const message = `Tenant "${tenant.slice(0, 128)}" has no audit chain.`;
  const advice = "Leave the tenant out to check every chain there is; the answer names them.";
  throw new SallyportError(failure("E3917", { message, advice }));
}

function isSound({ findings }: AuditChain): boolean {
  return findings.length === 0;
}

function chainView({ tenant, events, strands, findings }: ChainReport): AuditChain {
  return {
    tenant_id: tenant,
    events,
    strands: strands.map((strand) => ({ ...strand })),
    findings: findings.map(({ events: held, ...finding }) => ({
      ...finding,
      events: held.map(({ index, eventId, state, timestamp, callId }) => ({
        index,
        event_id: eventId,
        state,
        ...defined({
          at: timestamp === undefined ? undefined : new Date(timestamp).toISOString(),
          call_id: callId,
        }),
      })),
    })),
  };
}
