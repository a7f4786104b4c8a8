import type { Conduct, OperationManifest, ToolManifest } from "@sallyport/protocol";

/**
 * What holds for a call of one operation: its own word goes before the tool's. An operation with side effects
 * that says nothing about its risk is never below medium (FR-REG-01), whatever a harmless tool around it says.
 */
export function conductOf(tool: ToolManifest, operation: OperationManifest): Conduct {
  const sideEffects = operation.sideEffects ?? tool.sideEffects;
  const risk = operation.risk ?? (sideEffects !== "none" && tool.risk === "low" ? riskOf(tool) : tool.risk);
  return Object.freeze({
    requiredCapabilities: operation.requiredCapabilities ?? tool.requiredCapabilities,
    sideEffects,
    deterministic: operation.deterministic ?? tool.deterministic,
    idempotent: operation.idempotent ?? tool.idempotent,
    requiresApproval: operation.requiresApproval ?? tool.requiresApproval,
    risk,
  });
}

/** A low risk was meant for the whole tool only if the tool itself had side effects when it said so. */
function riskOf(tool: ToolManifest): Conduct["risk"] {
  return tool.sideEffects === "none" ? "medium" : tool.risk;
}
