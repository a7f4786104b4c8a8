import type { OperationManifest, ResourceLimits, ToolManifest, Traits } from "@sallyport/protocol";
import { compare, maxSatisfying, satisfies, valid } from "semver";
import { LruMap } from "../lru-map.ts";
import type { Implementation } from "../ports/runner.ts";
import type { ToolRecord } from "../ports/tools.ts";
import { lifecycleAt, nextChange } from "./lifecycle.ts";

/** What a call of one operation of one version needs to know; computed once. */
interface OperationFacts {
  readonly operation: OperationManifest;
  readonly traits: Traits;
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
  readonly #resolutions = new LruMap<string, Resolution>(MAX_CACHED_RANGES);
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

  /** Sets, replaces or, with undefined, takes away the code of a version. */
  load(entry: VersionEntry, implementation: Implementation | undefined): void {
    if (implementation) entry.implementation = implementation;
    else delete entry.implementation;
    this.#changed();
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

  /**
   * The highest loaded version in the range that is neither sunset nor removed, else the highest loaded one that is
   * sunset. Versions without code count only where none in the range has code.
   */
  resolve(range: string, now: number): VersionEntry | undefined {
    const known = this.recall(range, now);
    if (known) return known;
    const until = Math.min(...this.ordered().map((entry) => nextChange(entry.record.retirement, now)));
    const entry = this.#highest(range, now);
    if (!entry) return undefined;
    this.#resolutions.set(range, { entry, from: now, until });
    return entry;
  }

  /** Removed versions that would have been in the range, highest last. */
  removedIn(range: string, now: number): VersionEntry[] {
    return this.ordered().filter((entry) => isRemoved(entry, now) && satisfies(versionOf(entry), range));
  }

  #highest(range: string, now: number): VersionEntry | undefined {
    const highest = (isLoaded: boolean, phases: string[]) =>
      maxSatisfying(
        this.ordered()
          .filter(({ implementation }) => (implementation !== undefined) === isLoaded)
          .filter(({ record }) => phases.includes(lifecycleAt(record.retirement, now)))
          .map(versionOf),
        range,
      );
    const newest = (isLoaded: boolean) =>
      highest(isLoaded, ["active", "deprecated"]) ?? highest(isLoaded, ["sunset"]);
    const version = newest(true) ?? newest(false);
    return version === null ? undefined : this.#entries.get(version);
  }

  /** The same versions, to try a registration on. */
  copy(): ToolVersions {
    const copy = new ToolVersions();
    for (const [version, entry] of this.#entries) copy.#entries.set(version, { ...entry });
    return copy;
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
  const { timeoutMs = manifest.limits.timeoutMs } = operation;
  const limits = Object.freeze({ ...manifest.limits, timeoutMs });
  const facts = { operation, traits: traitsOf(manifest, operation), limits };
  entry.facts.set(name, facts);
  return facts;
}

/**
 * What holds for a call of one operation: what it states itself goes before what the tool states. An operation with
 * side effects that states no risk is never below medium (FR-REG-01) when the tool around it is harmless.
 */
export function traitsOf(tool: ToolManifest, operation: OperationManifest): Traits {
  const sideEffects = operation.sideEffects ?? tool.sideEffects;
  // A low risk was meant for the whole tool only if the tool itself had side effects when it said so.
  const isRaised = sideEffects !== "none" && tool.sideEffects === "none" && tool.risk === "low";
  return Object.freeze({
    requiredCapabilities: operation.requiredCapabilities ?? tool.requiredCapabilities,
    sideEffects,
    deterministic: operation.deterministic ?? tool.deterministic,
    idempotent: operation.idempotent ?? tool.idempotent,
    requiresApproval: operation.requiresApproval ?? tool.requiresApproval,
    risk: operation.risk ?? (isRaised ? "medium" : tool.risk),
  });
}
