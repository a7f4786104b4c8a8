import { type Failure, isFailure, type ToolManifest } from "@sallyport/protocol";
import type { Implementation } from "../ports/runner.ts";
import type { Quarantine, ToolRecord } from "../ports/tools.ts";
import { type DeprecateOptions, deprecateRecord, type RemoveOptions, removeRecord } from "./lifecycle.ts";
import { loadedRecord } from "./manifest.ts";
import { type Registered, type RegisterOptions, type RegistryOptions, registerVersion } from "./register.ts";
import {
  ANY_VERSION,
  type ResolvedTool,
  type ResolveRequest,
  removedVersion,
  resolveTool,
  unknownTool,
  unknownVersion,
} from "./resolve.ts";
import { isRemoved, ToolVersions, type VersionEntry } from "./versions.ts";

/**
 * The tools this process knows, in memory. It does no I/O: every change is answered with the record to store.
 * Expected refusals are failures; no method throws for what a caller asks.
 */
export class ToolRegistry {
  readonly #tools = new Map<string, ToolVersions>();
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions = {}) {
    this.#options = options;
  }

  /** Takes a new version, or attaches an implementation to a known one. Nothing changes when it is refused. */
  register(manifest: ToolManifest, options: RegisterOptions): Registered | Failure {
    const versions = this.#tools.get(manifest.id) ?? new ToolVersions();
    const answer = registerVersion(versions, manifest, { ...this.#options, ...options });
    if (!isFailure(answer)) this.#tools.set(manifest.id, versions);
    return answer;
  }

  /** What registering all of these, one after the other, would come to. Nothing changes. */
  tryAll(entries: Iterable<{ manifest: ToolManifest; options: RegisterOptions }>): (Registered | Failure)[] {
    const copies = new Map<string, ToolVersions>();
    return [...entries].map(({ manifest, options }) => {
      const copy = copies.get(manifest.id) ?? this.#tools.get(manifest.id)?.copy() ?? new ToolVersions();
      copies.set(manifest.id, copy);
      return registerVersion(copy, manifest, { ...this.#options, ...options });
    });
  }

  /** Takes the code of a version away; the version stays registered. */
  unload(tool: string, version: string): void {
    const versions = this.#tools.get(tool);
    const entry = versions?.get(version);
    if (entry) versions?.load(entry, undefined);
  }

  /** A version as it stands now. */
  version(tool: string, version: string): Pick<VersionEntry, "record" | "implementation"> | undefined {
    return this.#tools.get(tool)?.get(version);
  }

  /** Notes the revision at which the store has a version now. */
  stored({ manifest, revision }: ToolRecord): void {
    const versions = this.#tools.get(manifest.id);
    const entry = versions?.get(manifest.version);
    if (entry) versions?.update(entry, { ...entry.record, revision });
  }

  /**
   * Takes a version as another process left it, if that is newer. Its code stays, unless the manifest is another one. False
   * when nothing changed.
   */
  follow(raw: ToolRecord, bind: (manifest: ToolManifest) => Implementation | undefined): boolean {
    const record = loadedRecord(raw);
    if (isFailure(record)) return false;
    const { id, version } = record.manifest;
    const versions = this.#tools.get(id) ?? new ToolVersions();
    const entry = versions.get(version);
    if (entry && entry.record.revision >= record.revision) return false;
    if (entry && entry.record.manifestHash === record.manifestHash) versions.update(entry, record);
    else versions.put(record, bind(record.manifest));
    this.#tools.set(id, versions);
    return true;
  }

  /**
   * Takes what the store holds, for start-up: schemas are not compiled and old versions not judged again. `bind` finds the
   * implementation of a manifest, where it is not loaded later. Answers with the records that are not what a store should
   * hold (E3008); they are left out.
   */
  loadRecords(
    records: Iterable<ToolRecord>,
    bind?: (manifest: ToolManifest) => Implementation | undefined,
  ): Failure[] {
    const refused: Failure[] = [];
    for (const raw of records) {
      const record = loadedRecord(raw);
      if (isFailure(record)) {
        refused.push(record);
        continue;
      }
      const { id } = record.manifest;
      const versions = this.#tools.get(id) ?? new ToolVersions();
      versions.put(record, bind?.(record.manifest));
      this.#tools.set(id, versions);
    }
    return refused;
  }

  /** Finds the one version and operation a call means (E3001, E3002, E3004, E3006, E3010, E3014, E3219). */
  resolve(request: ResolveRequest): ResolvedTool | Failure {
    return resolveTool(this.#tools, request);
  }

  /** The default version of every tool that can be called now, sorted by name, for advertising (FR-REG-03). */
  definitions(now: number): ToolManifest[] {
    const manifests: ToolManifest[] = [];
    for (const versions of this.#tools.values()) {
      const record = versions.resolve(ANY_VERSION, now)?.record;
      if (record?.manifest.status === "active" && !record.quarantine) manifests.push(record.manifest);
    }
    return manifests.sort((a, b) => compareText(a.name, b.name) || compareText(a.id, b.id));
  }

  /** Every version there is, removed ones too, by id and then by version. */
  list(): ToolRecord[] {
    const tools = [...this.#tools].sort(([a], [b]) => compareText(a, b));
    return tools.flatMap(([, versions]) => versions.ordered().map(({ record }) => record));
  }

  /** Starts a version's way out. Refused with E3001, E3002, E3004 or, without guidance, E3013. */
  deprecate(tool: string, version: string, options: DeprecateOptions): ToolRecord | Failure {
    return this.#change(tool, version, (entry, versions) => {
      if (isRemoved(entry, options.now)) return removedVersion(entry.record);
      return deprecateRecord(entry.record, versions.at(-1) ?? version, options);
    });
  }

  /** Ends a version's life. Refused with E3013 and every reason of R1-10, unless forced. */
  remove(tool: string, version: string, options: RemoveOptions): ToolRecord | Failure {
    return this.#change(tool, version, (entry, versions) => {
      if (isRemoved(entry, options.now)) return removedVersion(entry.record);
      return removeRecord(entry.record, versions, options);
    });
  }

  /** Keeps a version from being called (E3219) until it is released; a first reason stays. Refused with E3001 or E3002. */
  quarantine(tool: string, version: string, quarantine: Quarantine): ToolRecord | Failure {
    return this.#change(tool, version, ({ record }) => {
      return record.quarantine ? record : { ...record, quarantine: Object.freeze({ ...quarantine }) };
    });
  }

  /** Lets a version be called again. Refused with E3001 or E3002. */
  release(tool: string, version: string): ToolRecord | Failure {
    return this.#change(tool, version, ({ record }) => {
      const { quarantine, ...released } = record;
      return quarantine ? released : record;
    });
  }

  /** Replaces a version's record by what `change` makes of it, given all versions of the tool, lowest first. */
  #change(
    tool: string,
    version: string,
    change: (entry: VersionEntry, versions: string[]) => ToolRecord | Failure,
  ): ToolRecord | Failure {
    const versions = this.#tools.get(tool);
    if (!versions) return unknownTool(tool, this.#tools.keys());
    const entry = versions.get(version);
    if (!entry) return unknownVersion(tool, version, versions.versions());
    const record = change(entry, versions.versions());
    if (!isFailure(record)) versions.update(entry, record);
    return record;
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
