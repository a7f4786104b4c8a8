import {
  absentOr,
  anyObject,
  anyText,
  count,
  described,
  exactRecord,
  flag,
  type Infer,
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
} from "../fields.ts";
import { RISKS, SIDE_EFFECTS, TOOL_CATEGORIES, TOOL_STATUSES } from "../manifest.ts";
import { catalogueFields } from "./gateway.ts";

const TOOL_LIFECYCLES = ["active", "deprecated", "sunset", "removed"] as const;

/** Which tool an address names. */
export const toolParamsField = exactRecord({ tool_id: described(nameText, "The tool's id.") });

export const toolListQueryField = exactRecord({
  category: absentOr(oneOf(TOOL_CATEGORIES), "Only tools of this category."),
  tags: absentOr(wordList, "Only tools that have every one of these tags."),
  capability_query: absentOr(text, "Words to look for; the best matches come first."),
  page: absentOr(wholeNumberText({ minimum: 1, maximum: 1_000_000 }), "From 1; 1 when left out."),
  page_size: absentOr(wholeNumberText({ minimum: 1, maximum: 200 }), "Tools a page, 50 when left out."),
});
/** As it stands in the address; everything is text there. */
export type ToolListQuery = Infer<typeof toolListQueryField>;

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

const toolSummary = named("ToolSummary", record({ ...summary, ...catalogueFields }));
/** One tool in a list (L3 §4.1.2). */
export type ToolSummary = Infer<typeof toolSummary>;

export const toolListResponseField = named(
  "ToolListResponse",
  record({
    tools: listOf(toolSummary),
    total_count: described(count, "Of all pages together."),
    page: positiveInteger,
    page_size: positiveInteger,
    domain_id: absentOr(anyText, "Of a gateway: the domain it serves."),
    version: absentOr(anyText, "Of a gateway: the domain's version, which changes with the catalogue."),
  }),
);
/** A page of tools (L3 §4.1.2). */
export type ToolListResponse = Infer<typeof toolListResponseField>;

const operation = named(
  "ToolOperation",
  record({
    description: anyText,
    input_schema: described(anyObject, "JSON Schema 2020-12 of `parameters`."),
    output_schema: absentOr(anyObject, "JSON Schema 2020-12 of `result`."),
    side_effects: oneOf(SIDE_EFFECTS),
    idempotent: flag,
    requires_approval: flag,
    risk: oneOf(RISKS),
    required_capabilities: listOf(anyText),
  }),
);
/** One thing a tool can do. */
export type ToolOperation = Infer<typeof operation>;

const deprecation = named(
  "ToolDeprecation",
  record({
    deprecated_at: absentOr(timestamp),
    sunset_at: absentOr(timestamp, "From here on ranges avoid the version."),
    removed_at: absentOr(timestamp),
    replacement: absentOr(anyText, "The version to move to."),
    guidance: absentOr(anyText),
  }),
);
/** When and why a version leaves, and where to go. */
export type ToolDeprecation = Infer<typeof deprecation>;

const version = named(
  "ToolVersion",
  record({
    version: anyText,
    lifecycle: oneOf(TOOL_LIFECYCLES),
    status: oneOf(TOOL_STATUSES),
    quarantine: absentOr(
      record({ at: timestamp, reason: absentOr(anyText, "For operators alone.") }),
      "Present while the version is kept from every caller.",
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
/** One version of a tool, whole. */
export type ToolVersion = Infer<typeof version>;

/** One tool with the version that a call gets when it names none. */
export const toolDetailField = named("ToolDetail", record({ ...summary, current: version }));

/** Every version of a tool, lowest first, removed ones too. */
export const toolVersionsResponseField = named(
  "ToolVersionsResponse",
  record({
    tool_id: anyText,
    latest_version: absentOr(anyText, "Absent when no version can be called."),
    versions: listOf(version),
  }),
);
