import type { RouteContext } from "../routes/parts.ts";

function notHere(): never {
  throw new Error("These routes are only for describing.");
}

/** Stands for the parts of a door where its routes are described and never used. */
export const HOLLOW_PARTS: RouteContext = {
  engine: {
    call: notHere,
    accept: notHere,
    standing: notHere,
    running: notHere,
    cancelCall: notHere,
    resume: notHere,
    revokeToken: notHere,
    watch: notHere,
    tools: { list: notHere, definitions: notHere, resolve: notHere },
    approvals: { list: notHere, get: notHere, approve: notHere, deny: notHere, edit: notHere },
    grants: { list: notHere, get: notHere, revoke: notHere },
  },
  calls: { list: notHere },
  audit: { tenants: notHere, strands: notHere, heads: notHere, read: notHere },
  authority: {},
  callers: "open",
  caller: { tenant: "", agent: "" },
  recognise: notHere,
  grantTier: "user",
  approvalKey: notHere,
  tokenRules: { issuers: [], skewMs: 0, maxLifeMs: 0, audience: "" },
  clock: { now: notHere },
  ids: { next: notHere },
  version: "",
  store: "embedded",
  checks: [],
  metrics: { render: notHere, access: "public" },
};
