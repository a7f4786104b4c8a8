import { hostname } from "node:os";
import { Admission, type AdmissionLimits } from "../admit/admission.ts";
import { type ApprovalRules, DEFAULT_RULES } from "../approvals/record.ts";
import { StrandAnchors } from "../audit/index.ts";
import { grantAuthority } from "../authorise/authority.ts";
import { CapabilityTree } from "../authorise/grant/index.ts";
import { DEFAULT_LIMITS, type EngineContext, type EngineLimits, type ToolRule } from "../context.ts";
import {
  createHookRunner,
  createInlineRunner,
  createThreadRunner,
  DEFAULT_RETRY,
  type RetryOptions,
  type Runners,
  runnerFor,
} from "../execute/index.ts";
import { DEFAULT_LEASE, type LeaseRules, Membership } from "../fleet/membership.ts";
import { boundStore } from "../journal/bounded-store.ts";
import { UnrecordedRuns } from "../journal/unrecorded.ts";
import { MemoryMeter } from "../memory/meter.ts";
import { MemoryBus, RecentErrors, systemClock, systemHost, uuidV7 } from "../memory/platform.ts";
import { resumeCall } from "../passage/run.ts";
import { UnknownCallers } from "../passage/unknown-callers.ts";
import { OutputComparison } from "../passage/validate.ts";
import type { ErrorHandler, Meter, Tracer } from "../ports/platform.ts";
import type { Hook, Runner } from "../ports/runner.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import { EventBacklogs, EventBuilder } from "../publish/index.ts";
import { CallQueue } from "../queue/queue.ts";
import { type RegistryOptions, ToolRegistry } from "../registry/index.ts";
import { CallsElsewhere } from "../running/elsewhere.ts";
import { LiveFeeds } from "../running/live-feed.ts";
import { RunningCalls } from "../running/running-calls.ts";
import { Telemetry } from "../telemetry/index.ts";
import {
  createSchemaCompiler,
  lintSchema,
  type SchemaCompilerOptions,
  STRICT_RESULT,
} from "../validate/index.ts";
import { Tools } from "./tools.ts";

/** What the owner of an engine may bring instead of its own. */
type Brought = Pick<
  EngineContext,
  | "authority"
  | "signer"
  | "capabilities"
  | "grantIndex"
  | "bus"
  | "isolation"
  | "resultSteps"
  | "errors"
  | "host"
  | "clock"
  | "ids"
  | "random"
>;

/** What an engine is made of. Only the store has no default: where things are kept is the owner's choice. */
export interface EngineOptions extends Partial<Brought>, Adjustments {
  store: Store;
  approvals?: Partial<ApprovalRules>;
  /** One for each kind of implementation. `inline` and `thread` are there unless others of these kinds are given. */
  runners?: readonly Runner[];
  /** True: there are no other runners than the given ones, so that no tool's code runs in this process by itself (D-9). */
  onlyGivenRunners?: boolean;
  hooks?: readonly Hook[];
  meter?: Meter;
  /** Given: every call leaves a trace of its stages. */
  tracer?: Tracer;
  /** Tells this process from others in what is measured of it as a whole. */
  instance?: string;
  limits?: Partial<EngineLimits>;
  retry?: Partial<RetryOptions>;
  registry?: RegistryOptions;
  /** Bounds for schemas, and documents that their references may name. */
  schemas?: SchemaCompilerOptions;
  /** The names of the sinks that calls are published to. Left out: no events are built or kept. */
  sinks?: readonly string[];
  /** Told after each commit that left events for the sinks, so that they need not be looked for. */
  onEvents?: () => void;
  /** How the lease is held on a store that other processes use too. 15 s, renewed every 5 s, when left out. */
  lease?: Partial<LeaseRules>;
}

/** What can be changed while the engine is open. */
export interface Adjustments {
  admission?: Partial<AdmissionLimits>;
  /** The operator's word about single tools. */
  toolRules?: (tool: string) => ToolRule | undefined;
}

/** The modules of an engine, and how to change what can be changed in them. */
export interface Composed {
  context: EngineContext;
  tools: Tools;
  queue: CallQueue;
  anchors: StrandAnchors;
  backlogs: EventBacklogs;
  adjust(changes: Adjustments): void;
}

/** Puts the modules together. Nothing is read and nothing runs yet. */
export function composeEngine(options: EngineOptions): Composed {
  const clock = options.clock ?? systemClock;
  const ids = options.ids ?? uuidV7(() => clock.now());
  const errors = guarded(options.errors ?? new RecentErrors());
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const schemas = createSchemaCompiler(options.schemas);
  const inFlight = new RunningCalls();
  let toolRules = options.toolRules;
  const admission = new Admission(options.admission, () => clock.now());
  const { hooks = [], sinks = [], onEvents } = options;
  const owner = ids.next();
  // Each process has a strand of its own; one that has the store for itself needs no second one.
  const strand = () => (options.store.isShared ? context.membership.slot : 0);
  const unrecorded = new UnrecordedRuns();
  const onGivenUp = (unit: UnitOfWork, over: Promise<unknown>) => unrecorded.givenUp(unit, over);
  const bounded = boundStore(options.store, { maxMs: limits.storeMs, owner, strand, onGivenUp });
  const store = onEvents ? withHints(bounded, onEvents) : bounded;
  const events = new EventBuilder(sinks);
  const backlogs = new EventBacklogs(options.store.outbox, { sinks, instance: owner });
  const own = options.onlyGivenRunners ? [] : [createInlineRunner(), createThreadRunner()];
  const available = [...own, ...(options.runners ?? [])];
  const runners: Runners = new Map(available.map((runner) => [runner.kind, runner]));
  const registry = new ToolRegistry({
    enforcementOf: (implementation) => runnerFor(implementation, runners).enforcement,
    lint: (schema) => lintSchema(schema, (given) => schemas.check(given)),
    ...options.registry,
  });
  const authority = options.authority ?? grantAuthority([]);
  const feeds = new LiveFeeds(owner);
  const bus = options.bus ?? new MemoryBus();
  const onlyRunnable = options.onlyGivenRunners;
  const tools = new Tools({ registry, schemas, runners, store, clock, ids, bus, onlyRunnable });
  const elsewhere = new CallsElsewhere({ store, bus, owner, inFlight, feeds });
  const queue = new CallQueue(
    { store, clock, authority, feeds, events, admission, limits, errors, bus, owner, inFlight, unrecorded },
    (callId, resume) => resumeCall(callId, resume, context),
  );
  const context: EngineContext = {
    store,
    events,
    queue,
    unknownCallers: new UnknownCallers({ store, clock, ids, errors }),
    registry,
    schemas,
    authority,
    approvals: { ...DEFAULT_RULES, ...options.approvals },
    bus,
    signer: options.signer,
    capabilities: options.capabilities ?? new CapabilityTree(),
    grantIndex: options.grantIndex,
    quarantine: (tool, version, order) => tools.quarantine(tool, version, order),
    admission,
    runners,
    isolation: options.isolation,
    resultSteps: options.resultSteps ?? STRICT_RESULT,
    hooks: hooks.length > 0 ? createHookRunner(hooks, { maxMs: limits.hookMs, errors }) : undefined,
    telemetry: new Telemetry(options.meter ?? new MemoryMeter(), {
      tracer: options.tracer,
      instance: options.instance,
    }),
    errors,
    host: options.host ?? systemHost,
    clock,
    ids,
    random: options.random ?? Math.random,
    inFlight,
    elsewhere,
    feeds,
    outputs: new OutputComparison(),
    toolRules: { of: (tool) => toolRules?.(tool) },
    limits,
    retry: { ...DEFAULT_RETRY, ...options.retry },
    owner,
    unrecorded,
    membership: new Membership({
      ...DEFAULT_LEASE,
      ...options.lease,
      ...{ instance: owner, store, clock, errors },
      about: { host: hostname(), pid: process.pid, ...(options.instance && { name: options.instance }) },
      onLate: (error) => {
        inFlight.endExternal(error);
        queue.letGo();
      },
    }),
  };
  const adjust = (changes: Adjustments) => {
    if (changes.admission) admission.adjust(changes.admission);
    if (changes.toolRules) toolRules = changes.toolRules;
  };
  const anchors = new StrandAnchors({ store, clock, ids, strand });
  return { context, tools, queue, backlogs, adjust, anchors };
}

function withHints(store: Store, onEvents: () => void): Store {
  const commit: Store["commit"] = async (unit) => {
    const result = await store.commit(unit);
    if (unit.outbox && result.ok) onEvents();
    return result;
  };
  return { ...store, commit };
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
