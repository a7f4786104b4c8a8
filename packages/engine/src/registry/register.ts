import { type Failure, failure, type Issue, type ToolManifest, type Warning } from "@sallyport/protocol";
import { compare, maxSatisfying, prerelease, valid } from "semver";
import type { Implementation } from "../ports/runner.ts";
import type { ToolRecord } from "../ports/tool-records.ts";
import { deepFreeze } from "./decode-manifest.ts";
import { manifestHash } from "./manifest-hash.ts";
import { releaseProblems } from "./release-problems.ts";
import type { SchemaLinter } from "./schema-judge.ts";
import { isRemoved, type ToolVersions, type VersionEntry, versionOf } from "./tool-versions.ts";

export interface RegisterOptions {
  now: number;
  implementation?: Implementation;
  module?: string;
  /**
   * What happens when this id and version are registered with the same content: `refuse` with E3007 (FR-REG-03),
   * the default, or `attach` the implementation to what is there. Other content is always refused (E3011).
   */
  onDuplicate?: "refuse" | "attach";
}

export interface Registered {
  record: ToolRecord;
  /** False when the version was known and only the implementation was attached. */
  added: boolean;
  warnings: Warning[];
  /** Versions that had to make room; their records changed too. */
  retired: ToolRecord[];
}

interface RegistrationRules {
  maxVersions?: number;
  lint?: SchemaLinter;
  requireQuality?: boolean;
}

const DEFAULT_MAX_VERSIONS = 5;

/** The rules a version must pass to be taken in. */
export class Registration {
  readonly #rules: RegistrationRules;

  constructor(rules: RegistrationRules) {
    this.#rules = rules;
  }

  register(versions: ToolVersions, manifest: ToolManifest, options: RegisterOptions): Registered | Failure {
    if (valid(manifest.version) !== manifest.version) return notSemver(manifest);
    const known = versions.get(manifest.version);
    if (known) return attach(versions, known, { manifest, options });
    const findings = this.#findings(manifest);
    if (this.#rules.requireQuality && findings.some(({ severity }) => severity === "error")) {
      return failure("E3012", { issues: findings.map(({ severity: _severity, ...issue }) => issue) });
    }
    const breaking = neighbourProblems(versions, manifest, options.now);
    if (breaking) return breaking;
    return this.#add(versions, { manifest, options, findings });
  }

  #add(
    versions: ToolVersions,
    {
      manifest,
      options,
      findings,
    }: { manifest: ToolManifest; options: RegisterOptions; findings: Finding[] },
  ): Registered {
    const record = newRecord(manifest, options);
    const entry = versions.put(record, options.implementation);
    const retired = retireLowest(versions, this.#rules.maxVersions ?? DEFAULT_MAX_VERSIONS, options.now);
    return { record: entry.record, added: true, warnings: warningsFor(manifest, findings), retired };
  }

  #findings(manifest: ToolManifest): Finding[] {
    const { lint } = this.#rules;
    if (!lint) return [];
    return Object.entries(manifest.operations).flatMap(([name, { inputSchema, outputSchema }]) => [
      ...located(lint(inputSchema), `/operations/${name}/inputSchema`),
      ...(outputSchema ? located(lint(outputSchema), `/operations/${name}/outputSchema`) : []),
    ]);
  }
}

interface Finding extends Issue {
  severity: "error" | "warning";
}

function located(findings: ReturnType<SchemaLinter>, path: string): Finding[] {
  return findings.map(({ path: below, message, suggestion, severity }) => {
    return { path: path + below, reason: message, suggestion, severity };
  });
}

function notSemver(manifest: ToolManifest): Failure {
  const issues = [
    { path: "/version", reason: "is not a SemVer version", suggestion: 'Use a version such as "1.0.0".' },
  ];
  return failure("E3008", { message: `${manifest.id} has no SemVer version`, issues });
}

function attach(
  versions: ToolVersions,
  known: VersionEntry,
  { manifest, options }: { manifest: ToolManifest; options: RegisterOptions },
): Registered | Failure {
  const name = `${manifest.id} ${manifest.version}`;
  if (manifestHash(manifest) !== known.record.manifestHash) {
    return failure("E3011", { message: `${name} is registered with other content` });
  }
  if (options.onDuplicate !== "attach") return failure("E3007", { message: `${name} is already registered` });
  if (options.implementation) known.implementation = options.implementation;
  if (options.module !== undefined) versions.update(known, { ...known.record, module: options.module });
  return { record: known.record, added: false, warnings: warningsFor(manifest, []), retired: [] };
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
  return failure("E3009", { message: `${manifest.id} ${version} does not fit beside ${against}`, issues });
}

function newRecord(manifest: ToolManifest, { now, module }: RegisterOptions): ToolRecord {
  return deepFreeze({
    manifest: Object.isFrozen(manifest) ? manifest : structuredClone(manifest),
    manifestHash: manifestHash(manifest),
    registeredAt: now,
    retirement: {},
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

function warningsFor(manifest: ToolManifest, findings: Finding[]): Warning[] {
  const unchecked = Object.entries(manifest.operations).filter(
    ([, { outputSchema }]) => outputSchema === undefined,
  );
  return [
    ...unchecked.map(([name]) => ({
      code: "E3508",
      message: `Operation "${name}" declares no output schema`,
    })),
    ...findings.map(({ path, reason }) => ({ code: "E3012", message: `${path} ${reason}` })),
  ];
}
