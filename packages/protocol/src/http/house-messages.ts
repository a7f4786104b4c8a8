import {
  absentOr,
  anyText,
  described,
  exactRecord,
  exampled,
  type Field,
  flag,
  listOf,
  matching,
  named,
  oneOf,
  optional,
  record,
  textUpTo,
  timestamp,
} from "../envelopes/field-reader.ts";

/** That the process answers at all. */
export interface HealthResponse {
  status: "ok";
  version: string;
}

export interface ReadinessFinding {
  name: string;
  ok: boolean;
  problem?: string;
}

/** Whether calls can be taken, and what is missing when they cannot. */
export interface ReadinessResponse {
  status: "ready" | "not_ready";
  checks: ReadinessFinding[];
}

/** Which token is refused from now on: by its name, or the token itself. */
export interface TokenRevokeRequest {
  jti?: string | null;
  token?: string | null;
  reason: string;
}

export interface TokenRevokeResponse {
  jti: string;
  revoked_at: string;
  by: string;
  reason: string;
  /** From here on the token has expired anyway. */
  forget_at: string;
}

export const healthResponseField: Field<HealthResponse> = named(
  "Health",
  record<HealthResponse>({ status: oneOf(["ok"]), version: anyText }),
);

export const readinessResponseField: Field<ReadinessResponse> = named(
  "Readiness",
  record<ReadinessResponse>({
    status: oneOf(["ready", "not_ready"]),
    checks: listOf(
      record<ReadinessFinding>({
        name: anyText,
        ok: flag,
        problem: absentOr(described(anyText, "What is missing.")),
      }),
    ),
  }),
);

export const tokenRevokeRequestField: Field<TokenRevokeRequest> = named(
  "TokenRevokeRequest",
  exampled(
    exactRecord<TokenRevokeRequest>({
      jti: optional(described(matching(/^\S{1,256}$/, "1 to 256 characters without spaces"), "Its name.")),
      token: optional(described(anyText, "The token itself, instead of its name.")),
      reason: described(textUpTo(2_000), "Why; goes on record."),
    }),
    { jti: "0198c0de-0000-7000-8000-000000000000", reason: "agent retired" },
  ),
);

export const tokenRevokeResponseField: Field<TokenRevokeResponse> = named(
  "TokenRevokeResponse",
  record<TokenRevokeResponse>({
    jti: anyText,
    revoked_at: timestamp,
    by: anyText,
    reason: anyText,
    forget_at: timestamp,
  }),
);
