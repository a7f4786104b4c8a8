import type { Conduct, OperationManifest, ResourceLimits } from "@sallyport/protocol";
import { compare, maxSatisfying, satisfies, valid } from "semver";
import type { Implementation } from "../ports/runner.ts";
import type { ToolRecord } from "../ports/tool-records.ts";
import { conductOf } from "./conduct.ts";
import { lifecycleAt, nextChange } from "./retirement.ts";

/** What a call of one operation of one version needs to know; computed once. */
export interface OperationFacts {
  readonly operation: OperationManifest;
  readonly conduct: Conduct;
  readonly limits: ResourceLimits;
}

/** One version of a tool in memory. */
export interface VersionEntry {
  record: ToolRecord;
  implementation?: Implementation;
  readonly facts: Map<string, OperationFacts>;
}

interface Resolution {
  entry: VersionEntry;
  /** Holds from here, and until the next date at which a version's lifecycle changes. */
  from: number;
  until: number;
}

const MAX_CACHED_RANGES = 200;

/** All versions of one tool, and which of them a range means at a moment. */
export class ToolVersions {
  readonly #entries = new Map<string, VersionEntry>();
  readonly #resolutions = new Map<string, Resolution>();
  #ordered: VersionEntry[] | undefined;

  get(version: string): VersionEntry | undefined {
    return this.#entries.get(version) ?? this.#entries.get(valid(version) ?? version);
  }

  put(record: ToolRecord, implementation?: Implementation): VersionEntry {
    const entry: VersionEntry = { record, ...(implementation && { implementation }), facts: new Map() };
    this.#entries.set(record.manifest.version, entry);
    this.#changed();
    return entry;
  }

  /** Replaces the retirement dates; every cached resolution is forgotten with them. */
  update(entry: VersionEntry, record: ToolRecord): void {
    entry.record = record;
    this.#changed();
  }

  /** Lowest version first. */
  ordered(): readonly VersionEntry[] {
    this.#ordered ??= [...this.#entries.values()].sort((a, b) => compare(versionOf(a), versionOf(b)));
    return this.#ordered;
  }

  versions(): string[] {
    return this.ordered().map(versionOf);
  }

  /** What the range was found to mean before, if that still holds; spares reading the range again. */
  recall(range: string, now: number): VersionEntry | undefined {
    const known = this.#resolutions.get(range);
    return known && now >= known.from && now < known.until ? known.entry : undefined;
  }

  /** The highest version in the range that is neither sunset nor removed, else the highest that is sunset. */
  resolve(range: string, now: number): VersionEntry | undefined {
    const known = this.recall(range, now);
    if (known) return known;
    const until = Math.min(...this.ordered().map((entry) => nextChange(entry.record.retirement, now)));
    const entry = this.#highest(range, now);
    if (!entry) return undefined;
    if (this.#resolutions.size >= MAX_CACHED_RANGES) this.#resolutions.clear();
    this.#resolutions.set(range, { entry, from: now, until });
    return entry;
  }

  /** Removed versions that would have been in the range, highest last. */
  removedIn(range: string, now: number): VersionEntry[] {
    return this.ordered().filter((entry) => isRemoved(entry, now) && satisfies(versionOf(entry), range));
  }

  #highest(range: string, now: number): VersionEntry | undefined {
    const inPhase = (...phases: string[]) =>
      this.ordered()
        .filter((entry) => phases.includes(lifecycleAt(entry.record.retirement, now)))
        .map(versionOf);
    const version =
      maxSatisfying(inPhase("active", "deprecated"), range) ?? maxSatisfying(inPhase("sunset"), range);
    return version === null ? undefined : this.#entries.get(version);
  }

  #changed(): void {
    this.#ordered = undefined;
    this.#resolutions.clear();
  }
}

export function versionOf(entry: VersionEntry): string {
  return entry.record.manifest.version;
}

export function isRemoved(entry: VersionEntry, now: number): boolean {
  return lifecycleAt(entry.record.retirement, now) === "removed";
}

/** Facts about an operation the manifest has; undefined for one it has not. */
export function factsOf(entry: VersionEntry, name: string): OperationFacts | undefined {
  const known = entry.facts.get(name);
  if (known) return known;
  const { manifest } = entry.record;
  const operation = Object.hasOwn(manifest.operations, name) ? manifest.operations[name] : undefined;
  if (!operation) return undefined;
  const limits = {
    ...manifest.limits,
    ...(operation.timeoutMs !== undefined && { timeoutMs: operation.timeoutMs }),
  };
  const facts = { operation, conduct: conductOf(manifest, operation), limits: Object.freeze(limits) };
  entry.facts.set(name, facts);
  return facts;
}
