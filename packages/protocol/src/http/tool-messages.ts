import type { JsonSchema } from "../json.ts";
import type { Risk, SideEffects, ToolCategory, ToolStatus } from "../manifest.ts";

/** One tool in a list (L3 §4.1.2). */
export interface ToolSummary {
  tool_id: string;
  tool_name: string;
  description: string;
  category: ToolCategory;
  /** Those that can be called, lowest first. */
  versions: string[];
  /** What a call gets that names no version. */
  latest_version: string;
  tags: string[];
  /** Whether a person is asked before it runs, at least for one of its operations. */
  requires_approval: boolean;
}

/** A page of tools (L3 §4.1.2). */
export interface ToolListResponse {
  tools: ToolSummary[];
  total_count: number;
  page: number;
  page_size: number;
}

export const TOOL_LIFECYCLES = ["active", "deprecated", "sunset", "removed"] as const;

/** One thing a tool can do. */
export interface ToolOperation {
  description: string;
  input_schema: JsonSchema;
  output_schema?: JsonSchema;
  side_effects: SideEffects;
  idempotent: boolean;
  requires_approval: boolean;
  risk: Risk;
  required_capabilities: string[];
}

/** When and why a version leaves, and where to go. */
export interface ToolDeprecation {
  deprecated_at?: string;
  sunset_at?: string;
  removed_at?: string;
  replacement?: string;
  guidance?: string;
}

/** One version of a tool, whole. */
export interface ToolVersion {
  version: string;
  lifecycle: (typeof TOOL_LIFECYCLES)[number];
  status: ToolStatus;
  /** Present while the version is kept from every caller. */
  quarantine?: { at: string; reason: string };
  deprecation?: ToolDeprecation;
  operations: Record<string, ToolOperation>;
  security_level: number;
  timeout_ms: number;
  manifest_hash: string;
  registered_at: string;
  release_notes?: string;
}

/** One tool with the version that a call gets when it names none. */
export interface ToolDetail extends ToolSummary {
  current: ToolVersion;
}

/** Every version of a tool, lowest first, removed ones too. */
export interface ToolVersionsResponse {
  tool_id: string;
  latest_version?: string;
  versions: ToolVersion[];
}

/** As it stands in the address; everything is text there. */
export interface ToolListQuery {
  category?: ToolCategory;
  tags?: string;
  capability_query?: string;
  page?: string;
  page_size?: string;
}
