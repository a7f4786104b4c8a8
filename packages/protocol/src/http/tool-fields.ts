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
  mapOf,
  named,
  nameText,
  oneOf,
  positiveInteger,
  record,
  text,
  timestamp,
  wholeNumberText,
  wordList,
} from "../envelopes/field-reader.ts";
import { RISKS, SIDE_EFFECTS, TOOL_CATEGORIES, TOOL_STATUSES } from "../manifest.ts";
import {
  TOOL_LIFECYCLES,
  type ToolDeprecation,
  type ToolDetail,
  type ToolListQuery,
  type ToolListResponse,
  type ToolOperation,
  type ToolSummary,
  type ToolVersion,
  type ToolVersionsResponse,
} from "./tool-messages.ts";

/** Which tool an address names. */
export const toolParamsField: Field<{ tool_id: string }> = exactRecord<{ tool_id: string }>({
  tool_id: described(nameText, "The tool's id."),
});

export const toolListQueryField: Field<ToolListQuery> = exactRecord<ToolListQuery>({
  category: absentOr(described(oneOf(TOOL_CATEGORIES), "Only tools of this category.")),
  tags: absentOr(described(wordList, "Only tools that have every one of these tags.")),
  capability_query: absentOr(described(text, "Words to look for; the best matches come first.")),
  page: absentOr(described(wholeNumberText({ minimum: 1, maximum: 1_000_000 }), "From 1; 1 when left out.")),
  page_size: absentOr(
    described(wholeNumberText({ minimum: 1, maximum: 200 }), "Tools a page, 50 when left out."),
  ),
});

const summary = {
  tool_id: anyText,
  tool_name: anyText,
  description: anyText,
  category: oneOf(TOOL_CATEGORIES),
  versions: described(listOf(anyText), "Those that can be called, lowest first."),
  latest_version: described(anyText, "What a call gets that names no version."),
  tags: listOf(anyText),
  requires_approval: described(flag, "A person is asked before it runs, at least for one operation."),
};

export const toolListResponseField: Field<ToolListResponse> = named(
  "ToolListResponse",
  record<ToolListResponse>({
    tools: listOf(named("ToolSummary", record<ToolSummary>(summary))),
    total_count: described(count, "Of all pages together."),
    page: positiveInteger,
    page_size: positiveInteger,
  }),
);

const operation: Field<ToolOperation> = named(
  "ToolOperation",
  record<ToolOperation>({
    description: anyText,
    input_schema: described(anyObject, "JSON Schema 2020-12 of `parameters`."),
    output_schema: absentOr(described(anyObject, "JSON Schema 2020-12 of `result`.")),
    side_effects: oneOf(SIDE_EFFECTS),
    idempotent: flag,
    requires_approval: flag,
    risk: oneOf(RISKS),
    required_capabilities: listOf(anyText),
  }),
);

const deprecation: Field<ToolDeprecation> = named(
  "ToolDeprecation",
  record<ToolDeprecation>({
    deprecated_at: absentOr(timestamp),
    sunset_at: absentOr(described(timestamp, "From here on ranges avoid the version.")),
    removed_at: absentOr(timestamp),
    replacement: absentOr(described(anyText, "The version to move to.")),
    guidance: absentOr(anyText),
  }),
);

const version: Field<ToolVersion> = named(
  "ToolVersion",
  record<ToolVersion>({
    version: anyText,
    lifecycle: oneOf(TOOL_LIFECYCLES),
    status: oneOf(TOOL_STATUSES),
    quarantine: absentOr(
      described(
        record<{ at: string; reason: string }>({ at: timestamp, reason: anyText }),
        "Present while the version is kept from every caller.",
      ),
    ),
    deprecation: absentOr(deprecation),
    operations: mapOf(operation),
    security_level: count,
    timeout_ms: count,
    manifest_hash: anyText,
    registered_at: timestamp,
    release_notes: absentOr(anyText),
  }),
);

export const toolDetailField: Field<ToolDetail> = named(
  "ToolDetail",
  record<ToolDetail>({ ...summary, current: version }),
);

export const toolVersionsResponseField: Field<ToolVersionsResponse> = named(
  "ToolVersionsResponse",
  record<ToolVersionsResponse>({
    tool_id: anyText,
    latest_version: absentOr(described(anyText, "Absent when no version can be called.")),
    versions: listOf(version),
  }),
);
