import type { CallAnswer, CallStatus, Failure } from "@sallyport/protocol";
import { Admission, type AdmissionLimits } from "../admit/admission.ts";
import { type ApprovalDesk, noDesk } from "../approve/desk.ts";
import { grantAuthority } from "../authorise/grants.ts";
import { createHookRunner } from "../execute/hooks.ts";
import { DEFAULT_RETRY, type RetryOptions } from "../execute/retry.ts";
import { createInlineRunner, createThreadRunner } from "../execute/runners/index.ts";
import { boundStore } from "../journal/bounded-store.ts";
import { judge, type Verdict } from "../journal/recover.ts";
import { MemoryMeter } from "../memory/meter.ts";
import { RecentErrors, systemClock, uuidV7 } from "../memory/system.ts";
import type { Authority } from "../ports/authority.ts";
import type { Hook } from "../ports/hooks.ts";
import type { Runner } from "../ports/runner.ts";
import type { Store } from "../ports/store.ts";
import type { ErrorHandler, Meter } from "../ports/telemetry.ts";
import type { Clock, Ids, Random } from "../ports/time.ts";
import { type RegistryOptions, ToolRegistry } from "../registry/index.ts";
import { Telemetry } from "../telemetry/index.ts";
import { createSchemaCompiler, lintSchema } from "../validate/index.ts";
import { type ResultStep, STRICT_RESULT } from "../validate/result-steps.ts";
import { type CallRequest, DEFAULT_LIMITS, type EngineLimits, type House } from "./house.ts";
import { InFlight, type Progress } from "./in-flight.ts";
import { performCall } from "./perform-call.ts";
import { closeByPerson, type PersonsWord, recover } from "./recovery.ts";
import { ToolShelf } from "./tool-shelf.ts";
import { within } from "./within.ts";

/** What an engine is made of. Only the store has no default: where things are kept is the owner's choice. */
export interface EngineOptions {
  store: Store;
  /** Without one nothing may run. */
  authority?: Authority;
  desk?: ApprovalDesk;
  admission?: Partial<AdmissionLimits>;
  runners?: { inline?: Runner; thread?: Runner };
  resultSteps?: readonly ResultStep[];
  hooks?: readonly Hook[];
  meter?: Meter;
  errors?: ErrorHandler;
  limits?: Partial<EngineLimits>;
  retry?: Partial<RetryOptions>;
  registry?: RegistryOptions;
  /** False when nobody relays the outbox: then no messages are kept for it. */
  publish?: boolean;
  clock?: Clock;
  ids?: Ids;
  random?: Random;
}

/** How a call stands right now. */
export type CallStanding =
  | { status: "running"; progress?: Progress }
  | { status: "unknown" }
  | { status: CallStatus; answer: CallAnswer };

/** The guarded passage, ready for calls. Made by `createEngine`. */
export class Engine {
  readonly tools: ToolShelf;
  readonly #house: House;
  #closed = false;

  constructor(house: House) {
    this.#house = house;
    this.tools = new ToolShelf(house);
  }

  /** Performs a call. Every ending is an answer; this never rejects. */
  call(request: CallRequest): Promise<CallAnswer> {
    return performCall(request, this.#house);
  }

  /** Asks a running call to stop; false when it is not running here (any more). Safe to repeat. */
  cancel(callId: string, reason = "cancelled by request"): boolean {
    return this.#house.inFlight.cancel(callId, reason);
  }

  /** How a call stands; undefined when there is none of that id. */
  async standing(callId: string): Promise<CallStanding | undefined> {
    const running = this.#house.inFlight.get(callId);
    if (running) return { status: "running", ...(running.progress && { progress: running.progress }) };
    const record = await this.#house.store.calls.get(callId);
    if (!record) return undefined;
    if (!record.closing) return { status: "unknown" };
    return { status: record.closing.status, answer: record.closing.answer };
  }

  /** Gives each call that an earlier process left open its verdict and records it. Never runs anything. */
  recover(): Promise<Verdict[]> {
    return recover(this.#house);
  }

  /** The verdict on one call, without recording anything. */
  async verdict(callId: string): Promise<Verdict> {
    return judge(callId, await this.#house.store.calls.get(callId));
  }

  /** Closes a call of unknown outcome on a person's word. */
  closeByPerson(word: PersonsWord): Promise<CallAnswer | Failure> {
    return closeByPerson(word, this.#house);
  }

  /** Hands the readings that wait to the meter now; otherwise that happens a few times a second. */
  flush(): void {
    this.#house.telemetry.flush();
  }

  /** Cancels what runs and waits until it is on record, ends every thread and hands over the last readings. The store stays its owner's to close. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#house.inFlight.cancelAll("the engine is closing");
    await Promise.all([this.#house.runners.inline.close(), this.#house.runners.thread.close()]);
    await within(this.#house.inFlight.idle(), this.#house.limits.storeMs);
    this.#house.telemetry.flush();
  }
}

/** Wires an engine and loads the tools its store knows. Rejects when the store cannot be read. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const house = furnish(options);
  const { refused } = house.registry.loadRecords(await options.store.tools.all());
  for (const error of refused) house.errors.report({ error, code: error.code, stage: "load tools" });
  return new Engine(house);
}

function furnish(options: EngineOptions): House {
  const clock = options.clock ?? systemClock;
  const ids = options.ids ?? uuidV7(() => clock.now());
  const errors = guarded(options.errors ?? new RecentErrors());
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const schemas = createSchemaCompiler();
  const { hooks = [], publish: publishing = true } = options;
  return {
    store: boundStore(publishing ? options.store : withoutMessages(options.store), limits.storeMs),
    registry: new ToolRegistry({
      lint: (schema) => lintSchema(schema, (given) => schemas.check(given)),
      ...options.registry,
    }),
    schemas,
    authority: options.authority ?? grantAuthority([]),
    desk: options.desk ?? noDesk,
    admission: new Admission(options.admission, () => clock.now()),
    runners: {
      inline: options.runners?.inline ?? createInlineRunner(),
      thread: options.runners?.thread ?? createThreadRunner(),
    },
    resultSteps: options.resultSteps ?? STRICT_RESULT,
    hooks: hooks.length > 0 ? createHookRunner(hooks, { maxMs: limits.hookMs, errors }) : undefined,
    telemetry: new Telemetry(options.meter ?? new MemoryMeter()),
    errors,
    clock,
    ids,
    random: options.random ?? Math.random,
    inFlight: new InFlight(),
    limits,
    retry: { ...DEFAULT_RETRY, ...options.retry },
    owner: ids.next(),
  };
}

function withoutMessages(store: Store): Store {
  const { calls, state, audit, outbox, tools } = store;
  const commit: Store["commit"] = (unit) => store.commit({ ...unit, outbox: [] });
  return { calls, state, audit, outbox, tools, commit, close: () => store.close() };
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
