import { type Failure, failure, isFailure, SallyportError, type ToolManifest } from "@sallyport/protocol";
import { HOUSE_TENANT, type ToolChange, type ToolWord, toolEventBody } from "../audit/tool-event.ts";
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

/** Why a version is kept apart. */
export interface QuarantineOrder {
  reason: string;
  /** A person, or `sallyport` after a violation. */
  by: string;
  callId?: string;
}

/** Who lets a version out again, having looked at it. */
export interface ReleaseOrder {
  by: string;
  note: string;
}

interface Change {
  change: ToolChange;
  record: ToolRecord;
  word?: ToolWord;
}

/** The tools of an engine: the registry in memory, and its changes on record. */
export class ToolShelf {
  readonly #house: House;
  readonly #unwritten: Change[] = [];

  constructor(house: House) {
    this.#house = house;
  }

  /** Takes a tool made with `defineTool`, to run in this thread, or with `defineCommand`, to run in sandboxes. */
  add(tool: DefinedTool, options: Omit<ShelveOptions, "implementation"> = {}): Promise<Registered | Failure> {
    const { operations, summaries, programs } = tool;
    const isCommand = Object.keys(programs).length > 0;
    return this.register(tool.manifest, {
      ...options,
      implementation: isCommand ? { kind: "process", programs } : { kind: "inline", operations, summaries },
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
    const added = registered.added ? [{ change: "registered" as const, record: registered.record }] : [];
    const retired = registered.retired.map((record) => ({ change: "removed" as const, record }));
    await this.#write([...added, ...retired]);
    return registered;
  }

  async deprecate(
    tool: string,
    version: string,
    options: Omit<DeprecateOptions, "now">,
  ): Promise<ToolRecord | Failure> {
    const changed = this.#house.registry.deprecate(tool, version, { ...options, now: this.#now() });
    if (!isFailure(changed)) await this.#write([{ change: "deprecated", record: changed }]);
    return changed;
  }

  async remove(
    tool: string,
    version: string,
    options: Omit<RemoveOptions, "now"> = {},
  ): Promise<ToolRecord | Failure> {
    const changed = this.#house.registry.remove(tool, version, { ...options, now: this.#now() });
    if (!isFailure(changed)) await this.#write([{ change: "removed", record: changed }]);
    return changed;
  }

  /**
   * Keeps a version from every caller until it is released; calls under way are not touched. In this process it holds at
   * once, even when it cannot be written. One that is kept apart already stays so for its first reason.
   */
  async quarantine(tool: string, version: string, order: QuarantineOrder): Promise<ToolRecord | Failure> {
    const { reason, by, callId } = order;
    const before = this.list();
    const quarantine = { at: this.#now(), reason, by, ...(callId !== undefined && { callId }) };
    const changed = this.#house.registry.quarantine(tool, version, quarantine);
    if (isFailure(changed) || before.includes(changed)) return changed;
    await this.#house.runners.script?.retire?.(tool);
    await this.#write([{ change: "quarantined", record: changed, word: { by, because: reason, callId } }]);
    return changed;
  }

  /** Lets a version be called again; nothing happens to one that was not kept apart. */
  async release(tool: string, version: string, { by, note }: ReleaseOrder): Promise<ToolRecord | Failure> {
    const before = this.list();
    const changed = this.#house.registry.release(tool, version);
    if (isFailure(changed) || before.includes(changed)) return changed;
    await this.#write([{ change: "released", record: changed, word: { by, because: note } }]);
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

  /** One unit for all of it. What cannot be written now is written with the next change. */
  async #write(changes: Change[]): Promise<void> {
    this.#unwritten.push(...changes);
    if (this.#unwritten.length === 0) return;
    const due = [...this.#unwritten];
    const timestamp = this.#now();
    const result = await this.#house.store.commit({
      tenant: HOUSE_TENANT,
      tools: due.map(({ record }) => ({ record })),
      events: due.map(({ change, record, word }) =>
        toolEventBody(change, record, { eventId: this.#house.ids.next(), timestamp, word }),
      ),
      outbox: [],
    });
    if (!result.ok) {
      const message = `The tool could not be kept (${result.conflict.kind}).`;
      throw new SallyportError(failure("E3914", { message }));
    }
    this.#unwritten.splice(0, due.length);
  }

  #now(): number {
    return this.#house.clock.now();
  }
}

function anyOperation(manifest: ToolManifest): string {
  return Object.keys(manifest.operations)[0] ?? "";
}
