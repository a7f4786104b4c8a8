import {
  type Failure,
  failure,
  isFailure,
  nearestNames,
  type OperationManifest,
  type ResourceLimits,
  type ToolManifest,
  type Traits,
  type Warning,
} from "@sallyport/protocol";
import { valid, validRange } from "semver";
import type { Implementation } from "../ports/runner.ts";
import type { ToolRecord } from "../ports/tools.ts";
import { daysLeft, lifecycleAt } from "./lifecycle.ts";
import { factsOf, isRemoved, type ToolVersions, type VersionEntry } from "./versions.ts";

export interface ResolveRequest {
  tool: string;
  /** A version or a SemVer range; the highest loaded one that is not a prerelease when left out. */
  version?: string | undefined;
  /** May be left out where the tool has only one. */
  operation?: string | undefined;
  now: number;
  /** Which tools may be named to the caller in a refusal; all when left out. */
  mayKnow?: (tool: string) => boolean;
}

/** Everything a call needs to know about the tool it goes to. */
export interface ResolvedTool {
  manifest: ToolManifest;
  record: ToolRecord;
  implementation?: Implementation;
  operationName: string;
  operation: OperationManifest;
  /** What the operation states goes before what the tool states; frozen. */
  traits: Traits;
  /** The tool's limits with the operation's own timeout; frozen. */
  limits: ResourceLimits;
  warnings: Warning[];
}

export const ANY_VERSION = "*";
const MAX_RANGE_LENGTH = 256;

/** Finds the one version and operation a call means (E3001, E3002, E3004, E3006, E3010, E3014, E3219). */
export function resolveTool(
  tools: ReadonlyMap<string, ToolVersions>,
  request: ResolveRequest,
): ResolvedTool | Failure {
  const { tool, operation, now, mayKnow = () => true } = request;
  const versions = tools.get(tool);
  if (!versions) return unknownTool(tool, [...tools.keys()].filter(mayKnow));
  const entry = findVersion(versions, request);
  if (isFailure(entry)) return entry;
  const { manifest, quarantine } = entry.record;
  // Never another version instead: a caller who gets one did not ask for it, and the harm may be in both.
  if (quarantine) return inQuarantine(manifest, quarantine.at);
  if (manifest.status !== "active") return notActive(manifest);
  return resolveOperation(entry, operation, now);
}

function findVersion(
  versions: ToolVersions,
  { tool, version = ANY_VERSION, now }: ResolveRequest,
): VersionEntry | Failure {
  const known = versions.recall(version, now);
  if (known) return known;
  if (valid(version) !== null) {
    const entry = versions.get(version);
    if (!entry) return unknownVersion(tool, version, versions.versions());
    return isRemoved(entry, now) ? removedVersion(entry.record) : entry;
  }
  if (version.length > MAX_RANGE_LENGTH || validRange(version) === null) {
    const problem = `"${shortened(version)}" is neither a version nor a SemVer range; ${tool} has`;
    return versionRefusal("E3006", problem, versions.versions());
  }
  const found = versions.resolve(version, now);
  if (found) return found;
  const removed = versions.removedIn(version, now).at(-1);
  if (removed) return removedVersion(removed.record);
  const problem = `No version of ${tool} fits "${shortened(version)}"; it has`;
  return versionRefusal("E3006", problem, versions.versions());
}

function resolveOperation(
  entry: VersionEntry,
  asked: string | undefined,
  now: number,
): ResolvedTool | Failure {
  const { record, implementation } = entry;
  const { manifest } = record;
  const names = Object.keys(manifest.operations);
  const operationName = asked ?? (names.length === 1 ? names[0] : undefined);
  const facts = operationName === undefined ? undefined : factsOf(entry, operationName);
  if (operationName === undefined || !facts) return unknownOperation(manifest, asked);
  const warning = retirementWarning(record, now);
  return {
    manifest,
    record,
    ...(implementation && { implementation }),
    operationName,
    ...facts,
    warnings: warning ? [warning] : [],
  };
}

export function unknownTool(tool: string, known: Iterable<string>): Failure {
  const near = nearestNames(tool, known);
  const hint = near.length === 0 ? "" : ` Did you mean ${near.map((name) => `"${name}"`).join(" or ")}?`;
  return failure("E3001", {
    message: `There is no tool "${shortened(tool)}".${hint}`,
    details: { nearest: near },
  });
}

export function unknownVersion(tool: string, version: string, versions: string[]): Failure {
  return versionRefusal("E3002", `${tool} has no version ${shortened(version)}; it has`, versions);
}

function versionRefusal(code: "E3002" | "E3006", problem: string, versions: string[]): Failure {
  return failure(code, { message: `${problem} ${listed(versions)}`, details: { versions } });
}

export function removedVersion({ manifest, retirement }: ToolRecord): Failure {
  const { replacement, guidance } = retirement;
  const instead = replacement === undefined ? "" : `; use ${replacement}`;
  return failure("E3004", {
    message: `${manifest.id} ${manifest.version} was removed${instead}.${guidance === undefined ? "" : ` ${guidance}`}`,
    ...(replacement !== undefined && { details: { replacement } }),
  });
}

/** Tells a caller that the version is closed and since when. The reason is for those who look at the record. */
function inQuarantine({ id, version }: ToolManifest, since: number): Failure {
  const date = new Date(since).toISOString();
  return failure("E3219", {
    message: `${id} ${version} is kept from being called since ${date}, until a person has looked at it.`,
    details: { tool: id, version },
  });
}

function notActive({ id, version, status }: ToolManifest): Failure {
  return failure("E3014", { message: `${id} ${version} is ${status}, not active`, details: { status } });
}

function unknownOperation(manifest: ToolManifest, operation: string | undefined): Failure {
  const operations = Object.keys(manifest.operations);
  const asked = operation === undefined ? "needs an operation" : `has no operation "${shortened(operation)}"`;
  const message = `${manifest.id} ${asked}; it has ${listed(operations)}`;
  return failure("E3010", { message, details: { operations } });
}

/** What a caller of a version that is on its way out should know (L3-REG-2); undefined for an active one. */
function retirementWarning({ manifest, retirement }: ToolRecord, now: number): Warning | undefined {
  const phase = lifecycleAt(retirement, now);
  if (phase !== "deprecated" && phase !== "sunset") return undefined;
  const { sunsetAt, replacement, guidance } = retirement;
  const sunset = sunsetAt === undefined ? "" : new Date(sunsetAt).toISOString().slice(0, 10);
  const when =
    phase === "sunset"
      ? `passed its sunset date ${sunset} and may be removed at any time`
      : `is deprecated; its sunset date is ${sunset}, ${daysLeft(retirement, now)} days from now`;
  const instead = replacement === undefined ? "" : ` Move to ${replacement}.`;
  const advice = guidance === undefined ? "" : ` ${guidance}`;
  return { code: "E3003", message: `${manifest.id} ${manifest.version} ${when}.${instead}${advice}` };
}

const SHOWN = 20;

function listed(names: string[]): string {
  if (names.length === 0) return "none";
  const shown = names.slice(-SHOWN).join(", ");
  return names.length > SHOWN ? `${names.length}, among them ${shown}` : shown;
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text;
}
