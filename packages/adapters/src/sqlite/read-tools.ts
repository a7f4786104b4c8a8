import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Retirement, ToolRecord } from "@sallyport/engine";
import type { ToolManifest } from "@sallyport/protocol";

const LIST_VERSIONS = `SELECT manifest, manifest_hash, retirement, module, created_at FROM tool_versions
  ORDER BY position`;

/** Reads tool versions in the order they were registered. */
export class ToolReads {
  readonly #all: StatementSync;

  constructor(database: DatabaseSync) {
    this.#all = database.prepare(LIST_VERSIONS);
  }

  all(): ToolRecord[] {
    return this.#all.all().map((row): ToolRecord => {
      const manifest: ToolManifest = JSON.parse(String(row.manifest));
      const retirement: Retirement = JSON.parse(String(row.retirement));
      const kept = {
        manifest,
        manifestHash: String(row.manifest_hash),
        registeredAt: Number(row.created_at),
        retirement,
      };
      return typeof row.module === "string" ? { ...kept, module: row.module } : kept;
    });
  }
}
