import type { AuthorityRequest } from "../ports/authority.ts";

/** A harmless call of `file.read` by `agent-7` of `acme`, with the given changes. */
export function authorityRequest(change: Partial<AuthorityRequest> = {}): AuthorityRequest {
  return {
    caller: { tenant: "acme", agent: "agent-7" },
    tool: "file.read",
    version: "1.0.0",
    operation: "run",
    manifestHash: "0".repeat(64),
    category: "data_access",
    tags: [],
    source: "native",
    securityLevel: 0,
    permissions: { filesystem: [], network: [], credentials: [] },
    requiredCapabilities: ["filesystem.read"],
    sideEffects: "none",
    risk: "low",
    isolation: "LEVEL_0",
    input: {},
    at: Date.UTC(2026, 0, 1),
    ...change,
  };
}
