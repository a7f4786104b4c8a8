import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { Quarantine, Retirement, ToolRecord } from "@sallyport/engine/ports";
import type { ToolManifest } from "@sallyport/protocol";

const LIST_VERSIONS = `SELECT manifest, manifest_hash, retirement, module, created_at, quarantine
  FROM tool_versions ORDER BY position`;

/** Reads tool versions in the order they were registered. */
export class ToolReads {
  readonly #all: StatementSync;

  constructor(database: DatabaseSync) {
    this.#all = database.prepare(LIST_VERSIONS);
  }

  all(): ToolRecord[] {
    return this.#all.all().map(recordOf);
  }
}

function recordOf(row: Record<string, SQLOutputValue>): ToolRecord {
  const manifest: ToolManifest = JSON.parse(String(row.manifest));
  const retirement: Retirement = JSON.parse(String(row.retirement));
  const record: ToolRecord = {
    manifest,
    manifestHash: String(row.manifest_hash),
    registeredAt: Number(row.created_at),
    retirement,
  };
  if (typeof row.module === "string") record.module = row.module;
  if (typeof row.quarantine === "string") {
    const quarantine: Quarantine = JSON.parse(row.quarantine);
    record.quarantine = quarantine;
  }
  return record;
}
