import {
  type Conduct,
  type Failure,
  isFailure,
  type OperationManifest,
  type ResourceLimits,
  type ToolManifest,
  type Warning,
} from "@sallyport/protocol";
import { valid, validRange } from "semver";
import type { Implementation } from "../ports/runner.ts";
import type { Quarantine, ToolRecord } from "../ports/tool-records.ts";
import { type LoadReport, loadedRecord } from "./load-records.ts";
import { inQuarantine, quarantineRecord, releaseRecord } from "./quarantine.ts";
import {
  badRange,
  notActive,
  noVersionInRange,
  removedVersion,
  retirementWarning,
  unknownOperation,
  unknownTool,
  unknownVersion,
} from "./refusals.ts";
import { type Registered, type RegisterOptions, Registration } from "./register.ts";
import { type RemoveOptions, removeRecord } from "./remove.ts";
import { type DeprecateOptions, deprecateRecord } from "./retirement.ts";
import type { SchemaLinter } from "./schema-judge.ts";
import { factsOf, isRemoved, ToolVersions, type VersionEntry } from "./tool-versions.ts";

export interface RegistryOptions {
  /** Versions of one tool that can be called at the same time; the lowest beyond it is retired. 5 when left out. */
  maxVersions?: number;
  /** Judges the schemas of a manifest; without it registration says nothing about their quality. */
  lint?: SchemaLinter;
  /** Refuse a manifest with an error finding (E3012) instead of warning. */
  requireQuality?: boolean;
}

export interface ResolveRequest {
  tool: string;
  /** A version or a SemVer range; the highest that is not a prerelease when left out. */
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
  /** The operation's word over the tool's; frozen. */
  conduct: Conduct;
  /** The tool's limits with the operation's own timeout; frozen. */
  limits: ResourceLimits;
  warnings: Warning[];
}

const ANY = "*";
const MAX_RANGE_LENGTH = 256;

/**
 * The tools this process knows, in memory. It does no I/O: every change is answered with the record to store.
 * Expected refusals are failures; no method throws for what a caller asks.
 */
export class ToolRegistry {
  readonly #tools = new Map<string, ToolVersions>();
  readonly #registration: Registration;

  constructor(options: RegistryOptions = {}) {
    this.#registration = new Registration(options);
  }

  /** Takes a new version, or attaches an implementation to a known one. Nothing changes when it is refused. */
  register(manifest: ToolManifest, options: RegisterOptions): Registered | Failure {
    const versions = this.#tools.get(manifest.id) ?? new ToolVersions();
    const answer = this.#registration.register(versions, manifest, options);
    if (!isFailure(answer)) this.#tools.set(manifest.id, versions);
    return answer;
  }

  /** Takes what the store holds, for start-up: schemas are not compiled and old versions not judged again. */
  loadRecords(records: Iterable<ToolRecord>): LoadReport {
    const report: LoadReport = { loaded: 0, refused: [] };
    for (const raw of records) {
      const record = loadedRecord(raw);
      if (isFailure(record)) {
        report.refused.push(record);
        continue;
      }
      this.#versionsOf(record.manifest.id).put(record);
      report.loaded += 1;
    }
    return report;
  }

  /** Finds the one version and operation a call means (E3001, E3002, E3004, E3006, E3010, E3014, E3219). */
  resolve(request: ResolveRequest): ResolvedTool | Failure {
    const { tool, now, mayKnow } = request;
    const versions = this.#tools.get(tool);
    if (!versions)
      return unknownTool(tool, mayKnow ? [...this.#tools.keys()].filter(mayKnow) : this.#tools.keys());
    const entry = this.#entry(versions, request);
    if (isFailure(entry)) return entry;
    // Never another version instead: a caller who gets one did not ask for it, and the harm may be in both.
    if (entry.record.quarantine) return inQuarantine(entry.record);
    if (entry.record.manifest.status !== "active") return notActive(entry.record);
    return resolved(entry, request.operation, now);
  }

  /** The default version of every tool that can be called now, sorted by name, for advertising (FR-REG-03). */
  definitions(now: number): ToolManifest[] {
    const manifests: ToolManifest[] = [];
    for (const versions of this.#tools.values()) {
      const record = versions.resolve(ANY, now)?.record;
      if (record?.manifest.status === "active" && !record.quarantine) manifests.push(record.manifest);
    }
    return manifests.sort((a, b) => order(a.name, b.name) || order(a.id, b.id));
  }

  /** Every version there is, removed ones too, by id and then by version. */
  list(): ToolRecord[] {
    const tools = [...this.#tools].sort(([a], [b]) => order(a, b));
    return tools.flatMap(([, versions]) => versions.ordered().map(({ record }) => record));
  }

  /** Starts a version's way out. Refused with E3001, E3002, E3004 or, without guidance, E3013. */
  deprecate(tool: string, version: string, options: DeprecateOptions): ToolRecord | Failure {
    return this.#change(tool, version, (entry, versions) => {
      if (isRemoved(entry, options.now)) return removedVersion(entry.record);
      const newest = versions.versions().at(-1) ?? version;
      return deprecateRecord(entry.record, newest, options);
    });
  }

  /** Ends a version's life. Refused with E3013 and every reason of R1-10, unless forced. */
  remove(tool: string, version: string, options: RemoveOptions): ToolRecord | Failure {
    return this.#change(tool, version, (entry, versions) => {
      if (isRemoved(entry, options.now)) return removedVersion(entry.record);
      return removeRecord(entry.record, versions.versions(), options);
    });
  }

  /** Keeps a version from being called (E3219) until it is released. Refused with E3001 or E3002. */
  quarantine(tool: string, version: string, quarantine: Quarantine): ToolRecord | Failure {
    return this.#change(tool, version, ({ record }) => quarantineRecord(record, quarantine));
  }

  /** Lets a version be called again. Refused with E3001 or E3002. */
  release(tool: string, version: string): ToolRecord | Failure {
    return this.#change(tool, version, ({ record }) => releaseRecord(record));
  }

  #change(
    tool: string,
    version: string,
    change: (entry: VersionEntry, versions: ToolVersions) => ToolRecord | Failure,
  ): ToolRecord | Failure {
    const versions = this.#tools.get(tool);
    if (!versions) return unknownTool(tool, this.#tools.keys());
    const entry = versions.get(version);
    if (!entry) return unknownVersion(tool, version, versions.versions());
    const record = change(entry, versions);
    if (!isFailure(record)) versions.update(entry, record);
    return record;
  }

  #entry(versions: ToolVersions, { tool, version = ANY, now }: ResolveRequest): VersionEntry | Failure {
    const known = versions.recall(version, now);
    if (known) return known;
    const isExact = valid(version) !== null;
    if (isExact) return exactly(versions, tool, { version, now });
    if (version.length > MAX_RANGE_LENGTH || validRange(version) === null) {
      return badRange(tool, version, versions.versions());
    }
    const found = versions.resolve(version, now);
    if (found) return found;
    const removed = versions.removedIn(version, now).at(-1);
    return removed ? removedVersion(removed.record) : noVersionInRange(tool, version, versions.versions());
  }

  #versionsOf(tool: string): ToolVersions {
    const known = this.#tools.get(tool);
    if (known) return known;
    const versions = new ToolVersions();
    this.#tools.set(tool, versions);
    return versions;
  }
}

function exactly(
  versions: ToolVersions,
  tool: string,
  asked: { version: string; now: number },
): VersionEntry | Failure {
  const entry = versions.get(asked.version);
  if (!entry) return unknownVersion(tool, asked.version, versions.versions());
  return isRemoved(entry, asked.now) ? removedVersion(entry.record) : entry;
}

function resolved(entry: VersionEntry, asked: string | undefined, now: number): ResolvedTool | Failure {
  const { record, implementation } = entry;
  const operationName = asked ?? onlyOperation(record.manifest);
  const facts = operationName === undefined ? undefined : factsOf(entry, operationName);
  if (operationName === undefined || !facts) return unknownOperation(record, asked);
  const warning = retirementWarning(record, now);
  return {
    manifest: record.manifest,
    record,
    ...(implementation && { implementation }),
    operationName,
    ...facts,
    warnings: warning ? [warning] : [],
  };
}

function onlyOperation(manifest: ToolManifest): string | undefined {
  const names = Object.keys(manifest.operations);
  return names.length === 1 ? names[0] : undefined;
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
