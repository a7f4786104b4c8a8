import { type Failure, failure } from "@sallyport/protocol";
import type { ToolRecord } from "../ports/tool-records.ts";
import { removalBlockers } from "./retirement.ts";

export interface RemoveOptions {
  now: number;
  /** An operator's decision to remove it although callers were not warned in full. */
  force?: boolean;
}

/** The record with its removal date set; refused (E3013) with every reason R1-10 gives. */
export function removeRecord(
  record: ToolRecord,
  versions: readonly string[],
  { now, force = false }: RemoveOptions,
): ToolRecord | Failure {
  const { manifest, retirement } = record;
  const blockers = removalBlockers({ version: manifest.version, retirement, versions, now });
  if (blockers.length > 0 && !force) {
    return failure("E3013", {
      message: `${manifest.id} ${manifest.version} may not be removed yet: ${blockers.join("; ")}`,
      details: { blockers },
    });
  }
  return { ...record, retirement: { ...retirement, removedAt: now } };
}
