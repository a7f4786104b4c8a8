import { type Failure, failure, isFailure, SallyportError, type ToolManifest } from "@sallyport/protocol";
import { HOUSE_TENANT, type ToolChange, toolEventBody } from "../audit/tool-event.ts";
import type { Implementation } from "../ports/runner.ts";
import type { ToolRecord } from "../ports/tool-records.ts";
import {
  type DefinedTool,
  type DeprecateOptions,
  decodeManifest,
  type Registered,
  type RemoveOptions,
  type ResolvedTool,
} from "../registry/index.ts";
import type { House } from "./house.ts";

export interface ShelveOptions {
  implementation?: Implementation;
  /** Where the code is loaded from at the next start, when no configuration names it. */
  module?: string;
  onDuplicate?: "refuse" | "attach";
  /** False: only for this process, nothing is written. */
  keep?: boolean;
}

/** The tools of an engine: the registry in memory, and its changes on record. */
export class ToolShelf {
  readonly #house: House;

  constructor(house: House) {
    this.#house = house;
  }

  /** Takes a tool made with `defineTool`, to run in this thread. */
  add(tool: DefinedTool, options: Omit<ShelveOptions, "implementation"> = {}): Promise<Registered | Failure> {
    return this.register(tool.manifest, {
      ...options,
      implementation: { kind: "inline", operations: tool.operations },
    });
  }

  /** Takes a manifest in any dialect. Refusals name every wrong field; after one nothing has changed. */
  async register(manifest: unknown, options: ShelveOptions = {}): Promise<Registered | Failure> {
    const { keep = true, onDuplicate = "attach", ...rest } = options;
    const decoded = decodeManifest(manifest, this.#house.schemas);
    if (!decoded.ok) return decoded.failure;
    const registered = this.#house.registry.register(decoded.manifest, {
      ...rest,
      onDuplicate,
      now: this.#now(),
    });
    if (isFailure(registered) || !keep) return registered;
    if (registered.added) await this.#write("registered", [registered.record]);
    if (registered.retired.length > 0) await this.#write("removed", registered.retired);
    return registered;
  }

  async deprecate(
    tool: string,
    version: string,
    options: Omit<DeprecateOptions, "now">,
  ): Promise<ToolRecord | Failure> {
    const changed = this.#house.registry.deprecate(tool, version, { ...options, now: this.#now() });
    if (!isFailure(changed)) await this.#write("deprecated", [changed]);
    return changed;
  }

  async remove(
    tool: string,
    version: string,
    options: Omit<RemoveOptions, "now"> = {},
  ): Promise<ToolRecord | Failure> {
    const changed = this.#house.registry.remove(tool, version, { ...options, now: this.#now() });
    if (!isFailure(changed)) await this.#write("removed", [changed]);
    return changed;
  }

  resolve(query: { tool: string; version?: string; operation?: string }): ResolvedTool | Failure {
    return this.#house.registry.resolve({ ...query, now: this.#now() });
  }

  /** Modules that were named when a version was added and have not been loaded in this process. */
  modulesWithoutCode(): string[] {
    const wanted = this.list().filter(({ manifest, module }) => {
      if (module === undefined) return false;
      const tool = this.resolve({
        tool: manifest.id,
        version: manifest.version,
        operation: anyOperation(manifest),
      });
      return !isFailure(tool) && !tool.implementation;
    });
    return [...new Set(wanted.flatMap(({ module }) => module ?? []))];
  }

  /** Every version, by id and version. */
  list(): ToolRecord[] {
    return this.#house.registry.list();
  }

  /** What to tell a model it can call, sorted by name (FR-REG-03). */
  definitions(): ToolManifest[] {
    return this.#house.registry.definitions(this.#now());
  }

  async #write(change: ToolChange, records: ToolRecord[]): Promise<void> {
    const timestamp = this.#now();
    const result = await this.#house.store.commit({
      tenant: HOUSE_TENANT,
      tools: records.map((record) => ({ record })),
      events: records.map((record) =>
        toolEventBody(change, record, { eventId: this.#house.ids.next(), timestamp }),
      ),
      outbox: [],
    });
    if (!result.ok)
      throw new SallyportError(
        failure("E3914", { message: `The tool could not be kept (${result.conflict.kind}).` }),
      );
  }

  #now(): number {
    return this.#house.clock.now();
  }
}

function anyOperation(manifest: ToolManifest): string {
  return Object.keys(manifest.operations)[0] ?? "";
}
