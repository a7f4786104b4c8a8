import { isDeepStrictEqual } from "node:util";
import {
  DEFAULT_LIMITS,
  deepFreeze,
  type Enforcement,
  type Failure,
  failure,
  type Issue,
  type JsonSchema,
  type LimitName,
  type ResourceLimits,
  type ToolManifest,
  type Warning,
} from "@sallyport/protocol";
import { compare, maxSatisfying, prerelease, valid } from "semver";
import type { Implementation } from "../ports/runner.ts";
import type { ToolRecord } from "../ports/tools.ts";
import { releaseProblems } from "./compatibility.ts";
import { manifestHash, NOT_SEMVER } from "./manifest.ts";
import { isRemoved, type ToolVersions, type VersionEntry, versionOf } from "./versions.ts";

/** Where a schema falls short of the quality rules (R1-6.3). */
interface QualityFinding {
  path: string;
  rule: string;
  severity: "error" | "warning";
  message: string;
  suggestion: string;
}

export interface RegistryOptions {
  /** Versions of one tool that can be called at the same time; the lowest beyond it is retired. 5 when left out. */
  maxVersions?: number;
  /** Finds faults in the schemas of a manifest; without it registration says nothing about their quality. */
  lint?: (schema: JsonSchema) => QualityFinding[];
  /** Refuse a manifest with an error finding (E3012) instead of warning. */
  requireQuality?: boolean;
  /** Which limits the implementation's runner enforces; undefined: that is known only when a call runs. */
  enforcementOf?: (implementation: Implementation) => Enforcement | undefined;
}

export interface RegisterOptions {
  now: number;
  implementation?: Implementation;
  module?: string;
  /**
   * What happens when this id and version are registered with the same content. `refuse`, the default: E3007
   * (FR-REG-03). `attach`: a version without code gets the implementation; one with other code is refused (E3007).
   * `replace`: the implementation takes the place of the former one. Other content is always refused (E3011).
   */
  onDuplicate?: OnDuplicate;
}

export type OnDuplicate = "refuse" | "attach" | "replace";

export interface Registered {
  record: ToolRecord;
  /** False when the version was known and only the implementation was attached. */
  added: boolean;
  /** True when the version had other code before. */
  replaced: boolean;
  warnings: Warning[];
  /** Versions that had to make room; their records changed too. */
  retired: ToolRecord[];
}

type Options = RegistryOptions & RegisterOptions;

const DEFAULT_MAX_VERSIONS = 5;

/** Adds a version that passes every rule, or attaches code to a known one. Nothing changes when it is refused. */
export function registerVersion(
  versions: ToolVersions,
  manifest: ToolManifest,
  options: Options,
): Registered | Failure {
  const { now, implementation, maxVersions = DEFAULT_MAX_VERSIONS } = options;
  if (valid(manifest.version) !== manifest.version) {
    return failure("E3008", { message: `${manifest.id} has no SemVer version`, issues: [NOT_SEMVER] });
  }
  const known = versions.get(manifest.version);
  if (known) return attach(versions, known, { manifest, options });
  const findings = qualityFindings(manifest, options);
  if (options.requireQuality && findings.some(({ severity }) => severity === "error")) {
    return failure("E3012", { issues: findings.map(({ severity: _severity, ...issue }) => issue) });
  }
  const breaking = neighbourProblems(versions, manifest, now);
  if (breaking) return breaking;
  const { record } = versions.put(newRecord(manifest, options), implementation);
  const retired = retireLowest(versions, maxVersions, now);
  const warnings = [
    ...uncheckedOutputs(manifest),
    ...findings.map(({ path, reason }) => ({ code: "E3012", message: `${path} ${reason}` })),
    ...unenforcedLimits(manifest, options),
  ];
  return { record, added: true, replaced: false, warnings, retired };
}

interface Finding extends Issue {
  severity: "error" | "warning";
}

function qualityFindings({ operations }: ToolManifest, { lint }: Options): Finding[] {
  if (!lint) return [];
  return Object.entries(operations).flatMap(([name, operation]) =>
    (["inputSchema", "outputSchema"] as const).flatMap((field) => {
      const findings = operation[field] ? lint(operation[field]) : [];
      return findings.map(({ path, message, suggestion, severity }) => {
        return { path: `/operations/${name}/${field}${path}`, reason: message, suggestion, severity };
      });
    }),
  );
}

function attach(
  versions: ToolVersions,
  known: VersionEntry,
  { manifest, options }: { manifest: ToolManifest; options: Options },
): Registered | Failure {
  const name = `${manifest.id} ${manifest.version}`;
  if (manifestHash(manifest) !== known.record.manifestHash) {
    return failure("E3011", { message: `${name} is registered with other content` });
  }
  const { implementation, onDuplicate = "refuse" } = options;
  if (onDuplicate === "refuse") return failure("E3007", { message: `${name} is already registered` });
  // Functions are equal only when they are the same object: equal source text does not prove equal behaviour.
  const replaced =
    known.implementation !== undefined &&
    implementation !== undefined &&
    !isDeepStrictEqual(known.implementation, implementation);
  if (replaced && onDuplicate === "attach") {
    return failure("E3007", {
      message: `${name} is already registered with other code`,
      advice: 'Raise the version, or replace the code on purpose with onDuplicate: "replace".',
    });
  }
  if (implementation && (replaced || !known.implementation)) versions.load(known, implementation);
  if (options.module !== undefined) versions.update(known, { ...known.record, module: options.module });
  const warnings = [...uncheckedOutputs(manifest), ...unenforcedLimits(manifest, options)];
  return { record: known.record, added: false, replaced, warnings, retired: [] };
}

/** A release must fit the versions on both sides of it that callers of its caret range may get instead. */
function neighbourProblems(versions: ToolVersions, manifest: ToolManifest, now: number): Failure | undefined {
  const { version } = manifest;
  if (prerelease(version) !== null) return undefined;
  const others = versions
    .ordered()
    .filter((entry) => !isRemoved(entry, now) && prerelease(versionOf(entry)) === null);
  const lower = others.findLast((entry) => compare(versionOf(entry), version) < 0);
  const higher = others.find((entry) => compare(versionOf(entry), version) > 0);
  const issues = [
    ...(lower ? releaseProblems(lower.record.manifest, manifest) : []),
    ...(higher ? releaseProblems(manifest, higher.record.manifest) : []),
  ];
  if (issues.length === 0) return undefined;
  const against = [lower, higher].flatMap((entry) => (entry ? [versionOf(entry)] : [])).join(" and ");
  return failure("E3009", { message: `${manifest.id} ${version} does not fit with ${against}`, issues });
}

function newRecord(manifest: ToolManifest, { now, module }: Options): ToolRecord {
  return deepFreeze({
    manifest: Object.isFrozen(manifest) ? manifest : structuredClone(manifest),
    manifestHash: manifestHash(manifest),
    registeredAt: now,
    retirement: {},
    revision: 0,
    ...(module !== undefined && { module }),
  });
}

function retireLowest(versions: ToolVersions, maxVersions: number, now: number): ToolRecord[] {
  const kept = versions.ordered().filter((entry) => !isRemoved(entry, now));
  return kept.slice(0, Math.max(0, kept.length - maxVersions)).map((entry) => {
    const replacement = newestCompatible(versionOf(entry), kept.slice(-maxVersions).map(versionOf));
    const retirement = { ...entry.record.retirement, removedAt: now, ...(replacement && { replacement }) };
    versions.update(entry, { ...entry.record, retirement });
    return entry.record;
  });
}

/** The highest version a caller of the retired one can move to without changes; the highest of all if none. */
function newestCompatible(version: string, kept: string[]): string | undefined {
  const compatible = maxSatisfying(kept, `^${version}`);
  return compatible ?? kept.findLast((other) => prerelease(other) === null) ?? kept.at(-1);
}

function uncheckedOutputs({ operations }: ToolManifest): Warning[] {
  const unchecked = Object.keys(operations).filter((name) => !operations[name]?.outputSchema);
  return unchecked.map((name) => {
    return { code: "E3508", message: `Operation "${name}" declares no output schema` };
  });
}

/** The limit that each field of a manifest is about. Time, memory and shares of processors are left to their defaults. */
const STATED_LIMITS = {
  cpuTimeMs: "cpu",
  maxFileBytes: "fileSize",
  maxDiskBytes: "disk",
  maxOpenFiles: "openFiles",
  maxProcesses: "processes",
  maxConnections: "connections",
} as const satisfies Partial<Record<keyof ResourceLimits, LimitName>>;

/** Limits that the manifest states and the tool's runner does not enforce. */
function unenforcedLimits({ limits }: ToolManifest, { implementation, enforcementOf }: Options): Warning[] {
  const enforced = implementation && enforcementOf?.(implementation);
  if (!enforced) return [];
  const stated = (Object.keys(STATED_LIMITS) as (keyof typeof STATED_LIMITS)[]).filter(
    (field) => limits[field] !== undefined && enforced[STATED_LIMITS[field]] === "none",
  );
  const isMemoryFree = enforced.memory === "none" && limits.memoryBytes < DEFAULT_LIMITS.memoryBytes;
  const fields = [...stated, ...(isMemoryFree ? ["memoryBytes"] : [])];
  if (fields.length === 0) return [];
  const message = `The ${implementation.kind} runner does not hold ${fields.join(", ")}: run the tool with runner: script, in a sandbox`;
  return [{ code: "E3102", message }];
}
