import type { ToolRecord } from "../../ports/tool-records.ts";

/** A version as text, ready to be kept. */
export interface PreparedTool {
  key: string;
  text: string;
}

/** Tool versions in the order they were registered. The manifest of a version stays as it first came. */
export class MemoryTools {
  readonly #versions = new Map<string, string>();

  put({ key, text }: PreparedTool): void {
    const known = this.#versions.get(key);
    this.#versions.set(key, known === undefined ? text : retire(known, text));
  }

  all(): ToolRecord[] {
    return [...this.#versions.values()].map((text): ToolRecord => JSON.parse(text));
  }
}

export function prepareTool(record: ToolRecord): PreparedTool {
  const { id, version } = record.manifest;
  return { key: JSON.stringify([id, version]), text: JSON.stringify(record) };
}

function retire(known: string, update: string): string {
  const { manifest, manifestHash, registeredAt }: ToolRecord = JSON.parse(known);
  const { retirement, module, quarantine }: ToolRecord = JSON.parse(update);
  const changed = { retirement, ...(module && { module }), ...(quarantine && { quarantine }) };
  const record: ToolRecord = { manifest, manifestHash, registeredAt, ...changed };
  return JSON.stringify(record);
}
