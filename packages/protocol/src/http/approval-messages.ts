import type { JsonObject, JsonValue } from "../json.ts";
import type { Risk } from "../manifest.ts";

export const APPROVAL_STATES = [
  "pending",
  "approved",
  "edited",
  "reserved",
  "consumed",
  "denied",
  "expired",
  "withdrawn",
  "void",
] as const;

export const APPROVAL_CAUSES = ["policy", "tool", "caller"] as const;
export const GRANT_TIERS = ["user", "project", "operator", "organisation"] as const;

export interface ApprovalLevelMessage {
  level: number;
  approvers: string[];
  timeout_seconds: number;
  channels?: string[];
}

export interface ApprovalVoteMessage {
  by: string;
  level: number;
  at: string;
  digest: string;
  comment?: string;
}

/** A question to a person about one call, and its answer. */
export interface ApprovalMessage {
  approval_id: string;
  invocation_id: string;
  state: (typeof APPROVAL_STATES)[number];
  tenant_id: string;
  agent_did: string;
  user_did?: string;
  session_id?: string;
  tool_id: string;
  tool_version: string;
  operation: string;
  /** One line for the person, secrets redacted. */
  summary: string;
  risk: Risk;
  because: (typeof APPROVAL_CAUSES)[number];
  tier?: (typeof GRANT_TIERS)[number];
  reason: string;
  rules: string[];
  /** The arguments, secrets redacted. */
  input: JsonValue;
  effects?: JsonValue;
  /** Of exactly what is asked; send it with the answer to say yes to nothing else. */
  digest: string;
  levels: ApprovalLevelMessage[];
  present_level: number;
  quorum: number;
  votes: ApprovalVoteMessage[];
  edited_by?: string;
  created_at: string;
  expires_at: string;
  settled_at?: string;
  settled_by?: string;
  settled_because?: string;
}

/** A page of approvals, newest first. */
export interface ApprovalListResponse {
  approvals: ApprovalMessage[];
  next_cursor?: string;
}

/** As it stands in the address. `open`: pending, or approved and not run yet. */
export interface ApprovalListQuery {
  state?: (typeof APPROVAL_STATES)[number] | "open";
  tenant?: string;
  cursor?: string;
  limit?: string;
}

/** How far an "always" reaches. */
export interface AlwaysMessage {
  arguments: "exact" | "any" | { pointer: string; match: JsonObject }[];
  agent?: "this" | "any" | null;
  session?: "this" | null;
  versions?: string | null;
  expires_in_seconds?: number | null;
}

export interface ApproveRequest {
  comment?: string | null;
  digest?: string | null;
  always?: AlwaysMessage | null;
}

export interface DenyRequest {
  reason: string;
}

export interface EditRequest {
  input: JsonValue;
}

export interface ApprovalTokenRequest {
  approver: string;
  level?: number | null;
  expires_in_seconds?: number | null;
}

/** A token that lets one person answer one approval. */
export interface ApprovalTokenResponse {
  token: string;
  approval_id: string;
  approver: string;
  level: number;
  expires_at: string;
}
