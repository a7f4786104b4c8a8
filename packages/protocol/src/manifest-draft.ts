import {
  DEFAULT_LIMITS,
  type OperationManifest,
  type Permissions,
  type ResourceLimits,
  type ToolManifest,
} from "./manifest.ts";

type Required = "id" | "version" | "name" | "description" | "operations";

/** A manifest as an author writes it: only what has no sensible default must be there. */
export interface ManifestDraft extends Partial<Omit<ToolManifest, Required | "permissions" | "limits">> {
  id: string;
  version: string;
  name: string;
  description: string;
  operations: Record<string, OperationManifest>;
  permissions?: Partial<Permissions>;
  limits?: Partial<ResourceLimits>;
}

/**
 * Fills in what the author left out. What a tool does not say about itself is assumed to be the worst:
 * side effects outside Sallyport, neither deterministic nor idempotent. Completing twice changes nothing.
 */
export function completeManifest(draft: ManifestDraft): ToolManifest {
  const sideEffects = draft.sideEffects ?? "external";
  return {
    category: "computation",
    tags: [],
    source: { type: "native" },
    status: "active",
    securityLevel: 0,
    kind: "function",
    requiredCapabilities: [],
    deterministic: false,
    idempotent: false,
    requiresApproval: false,
    risk: sideEffects === "none" ? "low" : "medium",
    ...draft,
    sideEffects,
    permissions: { filesystem: [], network: [], credentials: [], ...draft.permissions },
    limits: { ...DEFAULT_LIMITS, ...draft.limits },
  };
}
