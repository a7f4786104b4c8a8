import type { ErrorCode, ToolManifest } from "@sallyport/protocol";
import type { Changes } from "./changes.ts";

export type ToolLifecycle = "active" | "deprecated" | "sunset" | "removed";

/** When and why a version leaves; its lifecycle at a moment follows from these dates. */
export interface Retirement {
  deprecatedAt?: number;
  /** From here on ranges avoid the version. */
  sunsetAt?: number;
  removedAt?: number;
  /** The version to move to. */
  replacement?: string;
  guidance?: string;
  /** The tool's newest version when this one was deprecated: two minor releases must follow before removal. */
  newestAtDeprecation?: string;
}

/** Kept away from every caller until a person has looked at it. */
export interface Quarantine {
  at: number;
  reason: string;
  /** Who put it there: a person, or `sallyport` after a violation. */
  by: string;
  callId?: string;
}

/** One version of a tool as the store keeps it. */
export interface ToolRecord {
  manifest: ToolManifest;
  manifestHash: string;
  registeredAt: number;
  retirement: Retirement;
  /** The module the implementation is loaded from, when the version was added by the command line. */
  module?: string;
  quarantine?: Quarantine;
  /** Counts the writes, from 1; 0 while no store has it. */
  revision: number;
}

/** Puts a version, or replaces its retirement dates and its quarantine. The manifest of a version never changes. */
export interface ToolWrite {
  record: ToolRecord;
  /** The revision the change was made on; undefined for a new version. Otherwise the unit is refused (`tool`). */
  expect?: number;
}

export interface ToolReader {
  /** In the order they were registered; all of them without a cursor. */
  changedSince(cursor?: string): Promise<Changes<ToolRecord>>;
}

/** What a tool may say went wrong; every other code is the engine's to give. */
export const TOOL_CODES = [
  "E3709",
  "E3901",
  "E3907",
  "E3951",
  "E3952",
  "E3955",
  "E3956",
  "E3957",
] as const satisfies readonly ErrorCode[];
export type ToolCode = (typeof TOOL_CODES)[number];

export function isToolCode(value: unknown): value is ToolCode {
  return TOOL_CODES.some((code) => code === value);
}
