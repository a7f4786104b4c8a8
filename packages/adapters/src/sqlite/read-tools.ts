import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { Changes, Quarantine, Retirement, ToolRecord } from "@sallyport/engine/ports";
import type { ToolManifest } from "@sallyport/protocol";
import { changesOf } from "./changes.ts";

const LIST_CHANGED = `SELECT manifest, manifest_hash, retirement, module, created_at, quarantine, revision, change
  FROM tool_versions WHERE change > ? ORDER BY position`;

/** Reads tool versions in the order they were registered. */
export class ToolReads {
  readonly #changed: StatementSync;

  constructor(database: DatabaseSync) {
    this.#changed = database.prepare(LIST_CHANGED);
  }

  changedSince(cursor: string | undefined): Changes<ToolRecord> {
    return changesOf(this.#changed, cursor, recordOf);
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
    revision: Number(row.revision),
  };
  if (typeof row.module === "string") record.module = row.module;
  if (typeof row.quarantine === "string") {
    const quarantine: Quarantine = JSON.parse(row.quarantine);
    record.quarantine = quarantine;
  }
  return record;
}
