import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Failure, failure, isFailure, SallyportError, type ToolManifest } from "@sallyport/protocol";
import { auditBody, SYSTEM_TENANT, type ToolActor, type ToolChange, toolEvent } from "../audit/index.ts";
import type { EngineContext, QuarantineOrder } from "../context.ts";
import { bindManifest, implementationOf, noRunner } from "../execute/index.ts";
import type { Implementation } from "../ports/runner.ts";
import type { ToolRecord } from "../ports/tools.ts";
import {
  type DefinedTool,
  type DeprecateOptions,
  decodeManifest,
  type OnDuplicate,
  type Registered,
  type RemoveOptions,
  type ResolvedTool,
} from "../registry/index.ts";

export interface RegisterOptions {
  /** Left out: what a runner reads out of the manifest, else the tool has no code yet. */
  implementation?: Implementation;
  /** Where the code is loaded from at the next start, when no configuration names it. */
  module?: string;
  /** What happens to a version that is registered already; `attach` when left out (docs/registry.md). */
  onDuplicate?: OnDuplicate;
  /** False: only for this process, nothing is written. */
  keep?: boolean;
}

/** Code that is loaded and unloaded at once. */
interface CodeExchange {
  /** New versions, which are registered, and known ones, whose code is replaced where it differs. */
  load: readonly { manifest: ToolManifest; implementation: Implementation }[];
  /** Versions whose code is gone; they stay registered. */
  unload: readonly { id: string; version: string }[];
  /** Puts into force what belongs to this code: in the same step, before warm code ends. Must not throw. */
  together?(): void;
}

/** Who lets a version out again, having looked at it. */
interface ReleaseOrder {
  by: string;
  note: string;
}

interface ToolsContext
  extends Pick<EngineContext, "registry" | "schemas" | "runners" | "store" | "clock" | "ids" | "bus"> {
  /** Code of a kind without a runner is not taken: nothing of it, a summary included, may run in this process (D-9). */
  onlyRunnable?: boolean | undefined;
}

interface Change {
  change: ToolChange;
  record: ToolRecord;
  actor?: ToolActor;
}

/** When other processes change the same versions at once, a change is made again on what they left, so often. */
const TRIES = 8;

/** The tools of an engine: the registry in memory, and its changes on record. */
export class Tools {
  readonly #context: ToolsContext;
  #unwritten: Change[] = [];
  #lastTurn: Promise<unknown> = Promise.resolve();
  #cursor: string | undefined;
  /** Names this object on the bus. */
  readonly #name = randomUUID();

  constructor(context: ToolsContext) {
    this.#context = context;
  }

  /** Reads what other processes on the store have changed. Code that is loaded here stays. Rejects when the store is lost. */
  follow(): Promise<void> {
    return this.#inTurn(() => this.#readChanges());
  }

  /** Follows the others' changes as soon as the bus tells of them. Returns how to stop. */
  listen(onProblem: (error: unknown) => void): () => void {
    return this.#context.bus.subscribe("tools:updates", ({ from }) => {
      if (from !== this.#name) this.follow().catch(onProblem);
    });
  }

  /** Takes a tool made with `defineTool`, to run in this thread, or with `defineCommand`, to run in sandboxes. */
  add(
    tool: DefinedTool,
    options: Omit<RegisterOptions, "implementation"> = {},
  ): Promise<Registered | Failure> {
    return this.register(tool.manifest, { ...options, implementation: implementationOf(tool) });
  }

  /** Takes a manifest in any dialect. Refusals name every wrong field; after one nothing has changed. */
  register(manifest: unknown, options: RegisterOptions = {}): Promise<Registered | Failure> {
    const { keep = true, onDuplicate = "attach", ...rest } = options;
    return this.#inTurn(async () => {
      const decoded = decodeManifest(manifest, this.#context.schemas);
      if (!decoded.ok) return decoded.failure;
      const implementation = rest.implementation ?? bindManifest(decoded.manifest, this.#context.runners);
      if (implementation && isFailure(implementation)) return implementation;
      const unfit = this.#unfit(decoded.manifest, implementation);
      if (unfit) return unfit;
      const order = { ...rest, ...(implementation && { implementation }), onDuplicate, now: this.#now() };
      return await this.#untilWritten(async () => {
        const registered = this.#context.registry.register(decoded.manifest, order);
        if (isFailure(registered)) return registered;
        if (isOutdating(registered)) await this.#retire([decoded.manifest.id]);
        return !keep || (await this.#write(changesOf(registered))) ? registered : undefined;
      });
    });
  }

  /**
   * Loads and unloads code, all at once and in one unit of work. Answers with every refusal; after one, and when the
   * store fails (E3914), nothing has changed. Warm code of what was replaced or unloaded ends; running calls finish.
   */
  exchange({ load, unload, together }: CodeExchange): Promise<Failure[]> {
    const { registry, schemas } = this.#context;
    return this.#inTurn(async () => {
      const wrong: Failure[] = [];
      const entries = load.flatMap(({ manifest, implementation }) => {
        const decoded = decodeManifest(manifest, schemas);
        const unfit = decoded.ok ? this.#unfit(decoded.manifest, implementation) : decoded.failure;
        if (unfit) wrong.push(unfit);
        const options = { implementation, onDuplicate: "replace" as const, now: this.#now() };
        return decoded.ok ? [{ manifest: decoded.manifest, options }] : [];
      });
      if (wrong.length > 0) return wrong;
      const written = await this.#untilWritten(async () => {
        const tried = registry.tryAll(entries);
        const refused = tried.filter(isFailure);
        if (refused.length > 0) return { refused };
        return await this.#record(tried.flatMap((one) => (isFailure(one) ? [] : changesOf(one))));
      });
      if ("refused" in written) return written.refused;
      const outdated = new Set(unload.map(({ id }) => id));
      for (const { manifest, options } of entries) {
        const registered = registry.register(manifest, options);
        if (!isFailure(registered) && isOutdating(registered)) outdated.add(manifest.id);
      }
      for (const record of written) registry.stored(record);
      for (const { id, version } of unload) registry.unload(id, version);
      together?.();
      await this.#retire(outdated);
      return [];
    });
  }

  #unfit({ id }: ToolManifest, implementation: Implementation | undefined): Failure | undefined {
    const { onlyRunnable, runners } = this.#context;
    return onlyRunnable && implementation && !runners.has(implementation.kind) ? noRunner(id) : undefined;
  }

  async deprecate(
    tool: string,
    version: string,
    options: Omit<DeprecateOptions, "now">,
  ): Promise<ToolRecord | Failure> {
    return await this.#change("deprecated", () =>
      this.#context.registry.deprecate(tool, version, { ...options, now: this.#now() }),
    );
  }

  async remove(
    tool: string,
    version: string,
    options: Omit<RemoveOptions, "now"> = {},
  ): Promise<ToolRecord | Failure> {
    return await this.#change("removed", () =>
      this.#context.registry.remove(tool, version, { ...options, now: this.#now() }),
    );
  }

  /**
   * Keeps a version from every caller until it is released; calls under way are not touched. In this process it holds at
   * once, even when it cannot be written. One that is kept apart already stays so for its first reason.
   */
  async quarantine(tool: string, version: string, order: QuarantineOrder): Promise<ToolRecord | Failure> {
    const actor = { by: order.by, because: order.reason, callId: order.callId };
    const make = () => this.#context.registry.quarantine(tool, version, { at: this.#now(), ...order });
    return await this.#change("quarantined", make, { tool, version, actor });
  }

  /** Lets a version be called again; nothing happens to one that was not kept apart. */
  async release(tool: string, version: string, { by, note }: ReleaseOrder): Promise<ToolRecord | Failure> {
    const make = () => this.#context.registry.release(tool, version);
    return await this.#change("released", make, { tool, version, actor: { by, because: note } });
  }

  resolve(query: { tool: string; version?: string; operation?: string }): ResolvedTool | Failure {
    return this.#context.registry.resolve({ ...query, now: this.#now() });
  }

  /** Modules that were named when a version was added and have not been loaded in this process. */
  modulesWithoutCode(): string[] {
    const wanted = this.list().filter(({ manifest, module }) => {
      if (module === undefined) return false;
      const { id, version, operations } = manifest;
      const tool = this.resolve({ tool: id, version, operation: Object.keys(operations)[0] ?? "" });
      return !isFailure(tool) && !tool.implementation;
    });
    return [...new Set(wanted.flatMap(({ module }) => module ?? []))];
  }

  /** Every version, by id and version. */
  list(): ToolRecord[] {
    return this.#context.registry.list();
  }

  /** What to tell a model it can call, sorted by name (FR-REG-03). */
  definitions(): ToolManifest[] {
    return this.#context.registry.definitions(this.#now());
  }

  /**
   * Makes a change here at once, then writes it; made again on what another process has written meanwhile. A version that
   * is not to run any more leaves no warm code behind.
   */
  async #change(
    change: ToolChange,
    make: () => ToolRecord | Failure,
    about?: { tool: string; version: string; actor: ToolActor },
  ): Promise<ToolRecord | Failure> {
    const { registry } = this.#context;
    const isStopped = change === "removed" || change === "quarantined";
    const current = () => about && registry.version(about.tool, about.version)?.record;
    const before = current();
    let made = make();
    if (isFailure(made) || made === before) return made;
    if (isStopped) await this.#retire([made.manifest.id]);
    return await this.#inTurn(() =>
      this.#untilWritten(async () => {
        if (isFailure(made)) return made;
        // Another process may have replaced the version since: then the change is made on what that one left.
        if (!this.#stands(made)) {
          const there = current();
          made = make();
          if (isFailure(made) || made === there) return made;
        }
        const written = await this.#write([{ change, record: made, ...(about && { actor: about.actor }) }]);
        return written ? made : undefined;
      }),
    );
  }

  /** Whether the version is in memory as this record says. */
  #stands({ manifest, retirement, quarantine }: ToolRecord): boolean {
    const now = this.#context.registry.version(manifest.id, manifest.version)?.record;
    return isDeepStrictEqual([now?.retirement, now?.quarantine], [retirement, quarantine]);
  }

  /** Repeats what gives undefined when another process was faster, on what that one has written. */
  async #untilWritten<Result>(attempt: () => Promise<Result | undefined>): Promise<Result> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const result = await attempt();
      if (result !== undefined) return result;
      await this.#readChanges();
    }
    const message = "Other processes change the same tool all the time.";
    throw new SallyportError(failure("E3914", { message }));
  }

  async #readChanges(): Promise<void> {
    const { registry, runners, store } = this.#context;
    const { changed, cursor } = await store.tools.changedSince(this.#cursor);
    this.#cursor = cursor;
    const unwritten = new Set(this.#unwritten.map(({ record }) => nameOf(record)));
    const stopped: string[] = [];
    for (const record of changed) {
      // What is not written yet counts here before what others wrote.
      if (unwritten.has(nameOf(record))) registry.stored(record);
      else if (
        registry.follow(record, (manifest) => orNone(bindManifest(manifest, runners))) &&
        (record.quarantine || record.retirement.removedAt !== undefined)
      )
        stopped.push(record.manifest.id);
    }
    await this.#retire(stopped);
  }

  /** Ends idle threads and processes that hold a tool's code; busy ones end after their call. */
  async #retire(tools: Iterable<string>): Promise<void> {
    const runners = [...this.#context.runners.values()];
    await Promise.all([...tools].flatMap((tool) => runners.map((runner) => runner.retire?.(tool))));
  }

  /** One after the other: two writes at once would both send what waits to be written. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  /** False when another process has written one of these versions since. What cannot be written now is written with the next change. */
  async #write(changes: Change[]): Promise<boolean> {
    try {
      const written = await this.#record(changes.map((one) => this.#current(one)));
      for (const record of written ?? []) this.#context.registry.stored(record);
      return written !== undefined;
    } catch (error) {
      this.#unwritten.push(...changes);
      throw error;
    }
  }

  /** A later change of the same version may be in memory already; the record must not lose it. */
  #current(change: Change): Change {
    const { id, version } = change.record.manifest;
    return { ...change, record: this.#context.registry.version(id, version)?.record ?? change.record };
  }

  /**
   * One unit for these changes and for those that could not be written before. Gives the records as the store has them
   * then; undefined when another process has written one of the versions since. Rejects with E3914.
   */
  async #record(changes: readonly Change[]): Promise<ToolRecord[] | undefined> {
    const due = [...this.#unwritten.map((one) => this.#current(one)), ...changes];
    if (due.length === 0) return [];
    const timestamp = this.#now();
    const newest = new Map(due.map(({ record }) => [nameOf(record), record]));
    const tools = [...newest.values()].map(({ revision, ...record }) => ({
      record: { ...record, revision: revision + 1 },
      ...(revision > 0 && { expect: revision }),
    }));
    const result = await this.#context.store.commit({
      tenant: SYSTEM_TENANT,
      tools,
      audit: auditBody(
        SYSTEM_TENANT,
        due.map(({ change, record, actor }) =>
          toolEvent(change, record, { eventId: this.#context.ids.next(), timestamp, actor }),
        ),
      ),
    });
    if (!result.ok && result.conflict.kind === "tool") return undefined;
    if (!result.ok) {
      const message = `The tool could not be kept (${result.conflict.kind}).`;
      throw new SallyportError(failure("E3914", { message }));
    }
    this.#unwritten = [];
    this.#context.bus.publish("tools:updates", { from: this.#name });
    return tools.map(({ record }) => record);
  }

  #now(): number {
    return this.#context.clock.now();
  }
}

/** Whether warm code of the tool is no longer the code to run. */
function isOutdating({ replaced, retired }: Registered): boolean {
  return replaced || retired.length > 0;
}

function changesOf({ added, record, retired }: Registered): Change[] {
  return [
    ...(added ? [{ change: "registered" as const, record }] : []),
    ...retired.map((each) => ({ change: "removed" as const, record: each })),
  ];
}

function nameOf({ manifest }: ToolRecord): string {
  return JSON.stringify([manifest.id, manifest.version]);
}

/** What cannot be bound has no code here; whoever calls it is told. */
function orNone(bound: Implementation | Failure | undefined): Implementation | undefined {
  return bound && !isFailure(bound) ? bound : undefined;
}
