import { Admission, type AdmissionLimits } from "../admit/admission.ts";
import { type ApprovalRules, DEFAULT_RULES } from "../approve/ask.ts";
import { CapabilityTree, type GrantShelf, type GrantSigner } from "../authorise/capability/index.ts";
import { grantAuthority } from "../authorise/house-authority.ts";
import { createHookRunner } from "../execute/hooks.ts";
import { DEFAULT_RETRY, type RetryOptions } from "../execute/retry.ts";
import { createInlineRunner, createThreadRunner } from "../execute/runners/index.ts";
import { boundStore } from "../journal/bounded-store.ts";
import { MemoryBus } from "../memory/bus.ts";
import { MemoryMeter } from "../memory/meter.ts";
import { RecentErrors, systemClock, uuidV7 } from "../memory/system.ts";
import type { Authority } from "../ports/authority.ts";
import type { Bus } from "../ports/bus.ts";
import type { Hook } from "../ports/hooks.ts";
import type { Store } from "../ports/store.ts";
import type { ErrorHandler, Meter, Tracer } from "../ports/telemetry.ts";
import type { Clock, Ids, Random } from "../ports/time.ts";
import { type RegistryOptions, ToolRegistry } from "../registry/index.ts";
import { Telemetry } from "../telemetry/index.ts";
import { createSchemaCompiler, lintSchema } from "../validate/index.ts";
import { type ResultStep, STRICT_RESULT } from "../validate/result-steps.ts";
import { CallQueue } from "./call-queue.ts";
import { DEFAULT_LIMITS, type EngineLimits, type House, type Runners, type ToolRule } from "./house.ts";
import { InFlight } from "./in-flight.ts";
import type { IsolationRules } from "./isolation-rules.ts";
import { LiveFeeds } from "./live-feeds.ts";
import { resumeCall } from "./perform-call.ts";
import { ToolShelf } from "./tool-shelf.ts";

/** What an engine is made of. Only the store has no default: where things are kept is the owner's choice. */
export interface EngineOptions {
  store: Store;
  /** Without one nothing may run. */
  authority?: Authority;
  approvals?: Partial<ApprovalRules>;
  /** Signs grants; without one none can be made, and stored ones do not count. */
  signer?: GrantSigner;
  capabilities?: CapabilityTree;
  /** The stored grants as the authority sees them, so that what is granted here counts at once. */
  shelf?: GrantShelf;
  bus?: Bus;
  admission?: Partial<AdmissionLimits>;
  runners?: Partial<Runners>;
  /** Given: tools may run in processes of their own, isolated, and change files in workspaces. */
  isolation?: IsolationRules;
  resultSteps?: readonly ResultStep[];
  hooks?: readonly Hook[];
  meter?: Meter;
  /** Given: every call leaves a trace of its stages. */
  tracer?: Tracer;
  /** Tells this process from others in what is measured of it as a whole. */
  instance?: string;
  errors?: ErrorHandler;
  limits?: Partial<EngineLimits>;
  retry?: Partial<RetryOptions>;
  registry?: RegistryOptions;
  /** The operator's word about single tools. */
  toolRules?: (tool: string) => ToolRule | undefined;
  /** False when nobody relays the outbox: then no messages are kept for it. */
  publish?: boolean;
  clock?: Clock;
  ids?: Ids;
  random?: Random;
}

/** What can be changed while the engine is open. */
export interface Adjustments {
  admission?: Partial<AdmissionLimits>;
  toolRules?: (tool: string) => ToolRule | undefined;
}

/** A house, and how to change what can be changed in it. */
export interface Furnished {
  house: House;
  adjust(changes: Adjustments): void;
}

/** Puts the rooms together. Nothing is read and nothing runs yet. */
export function furnish(options: EngineOptions): Furnished {
  const clock = options.clock ?? systemClock;
  const ids = options.ids ?? uuidV7(() => clock.now());
  const errors = guarded(options.errors ?? new RecentErrors());
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const schemas = createSchemaCompiler();
  const inFlight = new InFlight();
  let toolRules = options.toolRules;
  const admission = new Admission(options.admission, () => clock.now());
  const { hooks = [], publish: publishing = true } = options;
  const house: House = {
    // Shelf and queue need the house and the house needs them; they are there before anybody asks.
    get tools() {
      return tools;
    },
    get queue() {
      return queue;
    },
    store: boundStore(publishing ? options.store : withoutMessages(options.store), limits.storeMs),
    registry: new ToolRegistry({
      lint: (schema) => lintSchema(schema, (given) => schemas.check(given)),
      ...options.registry,
    }),
    schemas,
    authority: options.authority ?? grantAuthority([]),
    approvals: { ...DEFAULT_RULES, ...options.approvals },
    bus: options.bus ?? new MemoryBus(),
    signer: options.signer,
    capabilities: options.capabilities ?? new CapabilityTree(),
    shelf: options.shelf,
    endCalls: (grants, why) => inFlight.withdraw({ grants }, why),
    admission,
    runners: {
      inline: options.runners?.inline ?? createInlineRunner(),
      thread: options.runners?.thread ?? createThreadRunner(),
      process: options.runners?.process,
      script: options.runners?.script,
    },
    isolation: options.isolation,
    resultSteps: options.resultSteps ?? STRICT_RESULT,
    hooks: hooks.length > 0 ? createHookRunner(hooks, { maxMs: limits.hookMs, errors }) : undefined,
    telemetry: new Telemetry(options.meter ?? new MemoryMeter(), {
      tracer: options.tracer,
      instance: options.instance,
    }),
    errors,
    clock,
    ids,
    random: options.random ?? Math.random,
    inFlight,
    feeds: new LiveFeeds(),
    toolRules: { of: (tool) => toolRules?.(tool) },
    limits,
    retry: { ...DEFAULT_RETRY, ...options.retry },
    owner: ids.next(),
  };
  const tools = new ToolShelf(house);
  const queue = new CallQueue(house, resumeCall);
  const adjust = (changes: Adjustments) => {
    if (changes.admission) admission.adjust(changes.admission);
    if (changes.toolRules) toolRules = changes.toolRules;
  };
  return { house, adjust };
}

function withoutMessages(store: Store): Store {
  const { calls, state, audit, outbox, tools, approvals, grants, revocations, queue, callbacks } = store;
  const commit: Store["commit"] = (unit) => store.commit({ ...unit, outbox: [] });
  const readers = { calls, state, audit, outbox, tools, approvals, grants, revocations, queue, callbacks };
  return { ...readers, commit, close: () => store.close() };
}

/** Reporting an error must never become one (R1-4.4). */
function guarded(handler: ErrorHandler): ErrorHandler {
  return {
    report(report) {
      try {
        handler.report(report);
      } catch {
        // Nobody is left to tell.
      }
    },
  };
}
