import type { ToolRecord } from "../ports/tool-records.ts";

export type ToolChange = "registered" | "deprecated" | "removed";

/** The chain that keeps what happens to the house itself, not to a tenant's calls. */
export const HOUSE_TENANT = "sallyport";

/** The body of the event that a tool version came, or is on its way out; canonical JSON like every other. */
export function toolEventBody(
  change: ToolChange,
  record: ToolRecord,
  at: { eventId: string; timestamp: number },
): string {
  const { manifest, manifestHash, retirement } = record;
  return JSON.stringify({
    change,
    eventId: at.eventId,
    manifestHash,
    replacement: retirement.replacement,
    state: "TOOL_CHANGED",
    tenant: HOUSE_TENANT,
    timestamp: at.timestamp,
    toolId: manifest.id,
    toolVersion: manifest.version,
  });
}
