import type { ToolManifest } from "@sallyport/protocol";

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
}

/** Puts a version, or replaces its retirement dates and its quarantine. The manifest of a version never changes. */
export interface ToolWrite {
  record: ToolRecord;
}

export interface ToolReader {
  all(): Promise<ToolRecord[]>;
}
