import { type Failure, failure } from "@sallyport/protocol";
import { valid } from "semver";
import type { ToolRecord } from "../ports/tool-records.ts";
import { deepFreeze } from "./decode-manifest.ts";

export interface LoadReport {
  loaded: number;
  /** Records that are not what a store should hold (E3008); they are left out. */
  refused: Failure[];
}

/** A record that registration once judged needs only to be of the right shape. */
export function loadedRecord(record: ToolRecord): ToolRecord | Failure {
  const problem = shapeProblem(record);
  if (problem === undefined) return deepFreeze(record);
  return failure("E3008", { message: `A stored tool record ${problem}` });
}

function shapeProblem(record: unknown): string | undefined {
  const manifest = member(record, "manifest");
  if (typeof member(manifest, "id") !== "string") return "has no tool id";
  const version = member(manifest, "version");
  if (typeof version !== "string" || valid(version) !== version) return "has no SemVer version";
  if (typeof member(manifest, "operations") !== "object") return "has no operations";
  if (typeof member(record, "manifestHash") !== "string") return "has no manifest hash";
  return typeof member(record, "retirement") === "object" ? undefined : "has no retirement dates";
}

function member(holder: unknown, name: string): unknown {
  return typeof holder === "object" && holder !== null ? Reflect.get(holder, name) : undefined;
}
