import {
  absentOr,
  anyObject,
  anyText,
  count,
  described,
  exactRecord,
  exampled,
  flag,
  type Infer,
  listOf,
  matching,
  named,
  nameText,
  oneOf,
  optional,
  record,
  textUpTo,
  timestamp,
  wholeNumber,
  wholeNumberText,
} from "../fields.ts";
import { WORKER_HEALTH } from "./gateway.ts";

/** Which store a server uses: its own file, or a database that others share. */
const storeField = oneOf(["embedded", "postgres"]);

export const healthResponseField = named(
  "Health",
  record({ status: oneOf(["ok"]), version: anyText, store: storeField }),
);

export const readinessResponseField = named(
  "Readiness",
  record({
    status: oneOf(["ready", "not_ready"]),
    store: storeField,
    checks: listOf(record({ name: anyText, ok: flag, problem: absentOr(anyText, "What is missing.") })),
    domain: absentOr(
      record({
        domain_id: anyText,
        version: anyText,
        workers: described(
          listOf(
            record({
              worker: described(anyText, "Its base address."),
              tools: listOf(anyText),
              health: oneOf(WORKER_HEALTH),
              problem: absentOr(anyText, "Why it is not up."),
            }),
          ),
          "Told to operators, and to everybody where callers need no token.",
        ),
      }),
      "Of a gateway: what it serves. A worker that is down does not make the gateway unready.",
    ),
  }),
);
/** Whether calls can be taken, and what is missing when they cannot. */
export type ReadinessResponse = Infer<typeof readinessResponseField>;
export type ReadinessFinding = ReadinessResponse["checks"][number];

/**
 * A token's jti as every door takes it, so that every accepted token can be revoked by name: no invisible characters,
 * nothing that a command reads as a file name, and nothing that looks like a token or a part of one.
 */
export const TOKEN_NAME = /^(?!@|-$|(?:.*\.)?eyJ)[^\s\p{C}\p{Default_Ignorable_Code_Point}]{1,256}$/u;

export const tokenRevokeRequestField = named(
  "TokenRevokeRequest",
  exampled(
    exactRecord({
      jti: optional(
        matching(
          TOKEN_NAME,
          "the name of a token: 1 to 256 characters that can be seen, no @ before them, and no token",
        ),
        "Its name.",
      ),
      token: optional(anyText, "The token itself, instead of its name."),
      reason: described(textUpTo(2_000), "Why; goes on record."),
    }),
    { jti: "0198c0de-0000-7000-8000-000000000000", reason: "agent retired" },
  ),
);
/** Which token is refused from now on: by its name, or the token itself. */
export type TokenRevokeRequest = Infer<typeof tokenRevokeRequestField>;

export const tokenRevokeResponseField = named(
  "TokenRevokeResponse",
  record({ jti: anyText, revoked_at: timestamp, by: anyText, reason: anyText, forget_at: timestamp }),
);
/** `forget_at`: when the token expires anyway, so that its revocation need not be kept. */
export type TokenRevokeResponse = Infer<typeof tokenRevokeResponseField>;

const CHAIN_PROBLEMS = [
  "changed",
  "missing",
  "out_of_order",
  "foreign",
  "not_canonical",
  "truncated",
] as const;

export const auditQueryField = exactRecord({
  tenant: absentOr(nameText, "Whose chain; left out: the tenant this server serves by default."),
  strand: absentOr(
    wholeNumberText({ minimum: 0, maximum: 65_535 }),
    "Which strand of the chain; left out: the first one, 0.",
  ),
  after: absentOr(
    wholeNumberText({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    "Only what comes after this sequence number.",
  ),
  limit: absentOr(
    wholeNumberText({ minimum: 1, maximum: 1_000 }),
    "Units of work a page, 100 when left out; each holds a few events.",
  ),
});
/** As it stands in the address. */
export type AuditQuery = Infer<typeof auditQueryField>;

const chainHead = record({ strand: count, sequence: count, hash: anyText });

export const auditPageField = named(
  "AuditPage",
  record({
    tenant_id: anyText,
    strand: count,
    strands: described(listOf(chainHead), "The newest link of each strand of the tenant's chain."),
    events: described(
      listOf(anyObject),
      "CloudEvents 1.0 with the link of their unit of work: strand, sequence, and index within the unit.",
    ),
    next_after: absentOr(count, "Absent when there is nothing more yet."),
  }),
);
/** A part of one strand of a tenant's chain, in order; the events can be checked offline. */
export type AuditPage = Infer<typeof auditPageField>;

export const auditVerifyQueryField = exactRecord({
  tenant: absentOr(nameText, "Only this tenant's chain; left out: every chain."),
});

/** Of a row as it was found: forged ones may have any. */
const anyPlace = wholeNumber("a whole number", { minimum: Number.MIN_SAFE_INTEGER });

const eventOutline = record({
  index: count,
  event_id: anyText,
  state: anyText,
  at: absentOr(timestamp),
  call_id: absentOr(anyText),
});

export const auditVerificationField = named(
  "AuditVerification",
  record({
    verified: described(flag, "True when no chain has a finding, and there is no problem besides."),
    problems: described(listOf(anyText), "Rows of the record that are of no chain at all."),
    chains: listOf(
      record({
        tenant_id: anyText,
        events: count,
        strands: listOf(record({ strand: anyPlace, sequence: anyPlace, hash: anyText, events: count })),
        findings: listOf(
          record({
            strand: anyPlace,
            sequence: anyPlace,
            problem: oneOf(CHAIN_PROBLEMS),
            message: anyText,
            events: described(listOf(eventOutline), "The events of the unit as they are now."),
          }),
        ),
      }),
    ),
  }),
);
export type AuditVerification = Infer<typeof auditVerificationField>;
export type AuditChain = AuditVerification["chains"][number];
