import type { ToolRecord } from "../ports/tool-records.ts";
import { redactText } from "../redact/redact.ts";

export type ToolChange = "registered" | "deprecated" | "removed" | "quarantined" | "released";

/** A person's word, or the house's, on putting a version into quarantine or taking it out. */
export interface ToolWord {
  by: string;
  because: string;
  callId?: string | undefined;
}

/** The chain that keeps what happens to the house itself, not to a tenant's calls. */
export const HOUSE_TENANT = "sallyport";

const MAX_TEXT_CHARS = 500;

/** The body of the event that a tool version came, is on its way out, or is kept apart; canonical JSON like every other. */
export function toolEventBody(
  change: ToolChange,
  record: ToolRecord,
  at: { eventId: string; timestamp: number; word?: ToolWord | undefined },
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
    word: at.word && wordOf(at.word),
  });
}

function wordOf({ because, by, callId }: ToolWord) {
  return { because: clean(because), by: clean(by), callId };
}

function clean(text: string): string {
  return redactText(text).slice(0, MAX_TEXT_CHARS).toWellFormed();
}
