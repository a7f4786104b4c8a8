import { INVALID, NOT_FOUND, UNAVAILABLE, VERSION_NOT_FOUND } from "./families.ts";
import type { CatalogueEntry } from "./vocabulary.ts";

const UNFIT = { ...INVALID, http: 422, fixer: "operator" } as const;
const CLASHES = { ...INVALID, http: 409, fixer: "operator" } as const;

/** E30xx: finding, registering and retiring tools. */
export const REGISTRY_ERRORS = {
  E3001: {
    ...NOT_FOUND,
    title: "Tool not found",
    advice: "Use the id of a registered tool; list the tools to see which there are.",
  },
  E3002: {
    ...VERSION_NOT_FOUND,
    title: "Tool version not found",
    advice: "Ask for a version of this tool that is registered, or leave the version out.",
  },
  E3003: {
    ...VERSION_NOT_FOUND,
    title: "Tool version is deprecated",
    http: 410,
    advice: "Move to the version named in the deprecation notice before this one is removed.",
  },
  E3004: {
    ...VERSION_NOT_FOUND,
    title: "Tool version was removed",
    http: 410,
    advice: "Use a version that is still available; a removed one does not come back.",
  },
  E3005: {
    ...UNAVAILABLE,
    title: "Semantic search failed",
    advice: "Check that the embedding service answers; until then search by name, tag or category.",
  },
  E3006: {
    ...VERSION_NOT_FOUND,
    title: "No version fits the requested range",
    http: 409,
    advice: "Widen the version range, or register a version that lies within it.",
  },
  E3007: {
    ...CLASHES,
    title: "Tool version is already registered",
    srd: "DuplicateTool",
    advice: "Give the tool another id, or raise its version.",
  },
  E3008: {
    ...UNFIT,
    title: "Invalid tool manifest",
    advice: "Correct each field named in the issues; the manifest schema says what is allowed.",
  },
  E3009: {
    ...CLASHES,
    title: "Breaking change in a patch or minor release",
    advice: "Raise the major version, or undo the schema changes named in the issues.",
  },
  E3010: {
    ...NOT_FOUND,
    title: "Tool has no such operation",
    advice: "Name one of the operations in the tool's manifest.",
  },
  E3011: {
    ...CLASHES,
    title: "A registered version is immutable",
    srd: "DuplicateTool",
    advice: "Raise the version: this id and version are already registered with other content.",
  },
  E3012: {
    ...UNFIT,
    title: "Schema is below the required quality",
    advice: "Add what each issue asks for, or lower the quality that registration demands.",
  },
  E3013: {
    ...CLASHES,
    title: "Version may not be removed yet",
    advice: "Deprecate it first and wait until its notice period is over.",
  },
  E3014: {
    ...NOT_FOUND,
    title: "Tool is not active",
    mcx: "ValidationError",
    srd: "Disabled",
    http: 409,
    fixer: "operator",
    advice: "Set the tool's status to active, or use another tool meanwhile.",
  },
  E3015: {
    ...UNFIT,
    title: "Invalid JSON Schema",
    advice: "Use JSON Schema 2020-12 with local references, safe patterns and a moderate size.",
  },
} as const satisfies Record<string, CatalogueEntry>;
