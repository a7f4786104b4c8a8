import { type Failure, failure } from "@sallyport/protocol";
import type { Quarantine, ToolRecord } from "../ports/tool-records.ts";

/** The record kept away from every caller. One that is in quarantine already stays there for its first reason. */
export function quarantineRecord(record: ToolRecord, quarantine: Quarantine): ToolRecord {
  return record.quarantine ? record : { ...record, quarantine: Object.freeze({ ...quarantine }) };
}

/** The record open to callers again; itself when it was never shut. */
export function releaseRecord(record: ToolRecord): ToolRecord {
  const { quarantine, ...released } = record;
  return quarantine ? released : record;
}

/** What a caller is told: that it is so and since when. The reason is for those who look at the record. */
export function inQuarantine({ manifest, quarantine }: ToolRecord): Failure {
  const { id, version } = manifest;
  const since = new Date(quarantine?.at ?? 0).toISOString();
  return failure("E3219", {
    message: `${id} ${version} is kept from being called since ${since}, until a person has looked at it.`,
    details: { tool: id, version },
  });
}
