import {
  absentOr,
  anyObject,
  anyText,
  count,
  described,
  exactRecord,
  type Field,
  flag,
  listOf,
  named,
  nameText,
  oneOf,
  record,
  wholeNumberText,
} from "../envelopes/field-reader.ts";
import type { JsonObject } from "../json.ts";

/** A part of one tenant's chain, in order. */
export interface AuditPage {
  tenant_id: string;
  /** CloudEvents 1.0 that carry their links, so that they can be checked offline. */
  events: JsonObject[];
  /** Ask for what comes after this next; absent when there is nothing more yet. */
  next_after?: number;
}

/** As it stands in the address. */
export interface AuditQuery {
  tenant?: string;
  after?: string;
  limit?: string;
}

export const CHAIN_PROBLEMS = [
  "changed",
  "missing",
  "out_of_order",
  "foreign",
  "not_canonical",
  "truncated",
] as const;

export interface AuditFinding {
  sequence: number;
  problem: (typeof CHAIN_PROBLEMS)[number];
  message: string;
}

export interface AuditChain {
  tenant_id: string;
  events: number;
  head: { sequence: number; hash: string };
  findings: AuditFinding[];
}

export interface AuditVerification {
  /** True when no chain has a finding. */
  verified: boolean;
  chains: AuditChain[];
}

export interface AuditVerifyQuery {
  tenant?: string;
}

export const auditQueryField: Field<AuditQuery> = exactRecord<AuditQuery>({
  tenant: absentOr(described(nameText, "Whose chain; left out: the tenant this house serves by itself.")),
  after: absentOr(
    described(
      wholeNumberText({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      "Only what comes after this sequence number.",
    ),
  ),
  limit: absentOr(
    described(wholeNumberText({ minimum: 1, maximum: 1_000 }), "Events a page, 100 when left out."),
  ),
});

export const auditPageField: Field<AuditPage> = named(
  "AuditPage",
  record<AuditPage>({
    tenant_id: anyText,
    events: described(listOf(anyObject), "CloudEvents 1.0 that carry their links in the chain."),
    next_after: absentOr(described(count, "Absent when there is nothing more yet.")),
  }),
);

export const auditVerifyQueryField: Field<AuditVerifyQuery> = exactRecord<AuditVerifyQuery>({
  tenant: absentOr(described(nameText, "Only this tenant's chain; left out: every chain.")),
});

export const auditVerificationField: Field<AuditVerification> = named(
  "AuditVerification",
  record<AuditVerification>({
    verified: described(flag, "True when no chain has a finding."),
    chains: listOf(
      record<AuditChain>({
        tenant_id: anyText,
        events: count,
        head: record<AuditChain["head"]>({ sequence: count, hash: anyText }),
        findings: listOf(
          record<AuditFinding>({ sequence: count, problem: oneOf(CHAIN_PROBLEMS), message: anyText }),
        ),
      }),
    ),
  }),
);
