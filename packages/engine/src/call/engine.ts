import { type CallAnswer, type CallStatus, type Failure, failure, SallyportError } from "@sallyport/protocol";
import { Admission, type AdmissionLimits } from "../admit/admission.ts";
import { type ApprovalRules, DEFAULT_RULES } from "../approve/ask.ts";
import { CapabilityTree, type GrantShelf, type GrantSigner } from "../authorise/capability/index.ts";
import { grantAuthority } from "../authorise/house-authority.ts";
import { createHookRunner } from "../execute/hooks.ts";
import { DEFAULT_RETRY, type RetryOptions } from "../execute/retry.ts";
import { createInlineRunner, createThreadRunner } from "../execute/runners/index.ts";
import { boundStore } from "../journal/bounded-store.ts";
import { judge, type Verdict } from "../journal/recover.ts";
import { MemoryBus } from "../memory/bus.ts";
import { MemoryMeter } from "../memory/meter.ts";
import { RecentErrors, systemClock, uuidV7 } from "../memory/system.ts";
import type { Authority } from "../ports/authority.ts";
import type { Bus } from "../ports/bus.ts";
import type { Hook } from "../ports/hooks.ts";
import type { Runner } from "../ports/runner.ts";
import type { SandboxOffer } from "../ports/sandbox.ts";
import type { Store } from "../ports/store.ts";
import type { ErrorHandler, Meter } from "../ports/telemetry.ts";
import type { Clock, Ids, Random } from "../ports/time.ts";
import type { Revocation } from "../ports/tokens.ts";
import { type RegistryOptions, ToolRegistry } from "../registry/index.ts";
import { Telemetry } from "../telemetry/index.ts";
import { createSchemaCompiler, lintSchema } from "../validate/index.ts";
import { type ResultStep, STRICT_RESULT } from "../validate/result-steps.ts";
import { ApprovalBook } from "./approval-book.ts";
import { GrantBook } from "./grant-book.ts";
import { type CallRequest, DEFAULT_LIMITS, type EngineLimits, type House, type Runners } from "./house.ts";
import { InFlight, type Progress } from "./in-flight.ts";
import type { IsolationRules } from "./isolation-rules.ts";
import { performCall, resumeCall } from "./perform-call.ts";
import { closeByPerson, type PersonsWord, recover } from "./recovery.ts";
import { ToolShelf } from "./tool-shelf.ts";
import { type UndoneCall, undoCall } from "./undo.ts";
import type { GoingOn } from "./waiting-call.ts";
import { endWithdrawn, type RevocationOrder, revokeToken } from "./withdraw.ts";
import { within } from "./within.ts";

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
  | { status: "pending_approval"; approvalId: string }
  | { status: CallStatus; answer: CallAnswer };

/** The guarded passage, ready for calls. Made by `createEngine`. */
export class Engine {
  readonly tools: ToolShelf;
  readonly approvals: ApprovalBook;
  readonly grants: GrantBook;
  readonly #house: House;
  readonly #listening: (() => void)[];
  #closed = false;

  constructor(house: House, disconnect?: () => void) {
    this.#house = house;
    this.tools = house.tools;
    this.approvals = new ApprovalBook(house);
    this.grants = new GrantBook(house);
    this.#listening = [...endWithdrawn(house), ...(disconnect ? [disconnect] : [])];
  }

  /** Performs a call. Every ending is an answer; this never rejects. */
  call(request: CallRequest): Promise<CallAnswer> {
    return performCall(request, this.#house);
  }

  /** Goes on with a call that waits for approval; answers how it stands when it has to wait still. */
  resume(callId: string, goingOn: GoingOn = {}): Promise<CallAnswer | Failure> {
    return resumeCall(callId, goingOn, this.#house);
  }

  /** From here on nobody accepts the token, in any process; calls that run by it end. */
  revokeToken(order: RevocationOrder): Promise<Revocation | Failure> {
    return revokeToken(order, this.#house);
  }

  /** Asks a running call to stop; false when it is not running here (any more). Safe to repeat. */
  cancel(callId: string, reason = "cancelled by request"): boolean {
    return this.#house.inFlight.cancel(callId, reason);
  }

  /** How a call stands; undefined when there is none of that id. */
  async standing(callId: string): Promise<CallStanding | undefined> {
    const running = this.#house.inFlight.get(callId);
    const record = await this.#house.store.calls.get(callId);
    if (record?.phase === "waiting") return await this.#waiting(callId);
    if (running) return { status: "running", ...(running.progress && { progress: running.progress }) };
    if (!record) return undefined;
    if (!record.closing) return { status: "unknown" };
    return { status: record.closing.status, answer: record.closing.answer };
  }

  async #waiting(callId: string): Promise<CallStanding> {
    const approval = await this.#house.store.approvals.ofCall(callId);
    return { status: "pending_approval", approvalId: approval?.approvalId ?? "" };
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

  /** Takes back what a committed call did to files, when they are still what it left. */
  async undo(callId: string, order: { by: string; tenant?: string }): Promise<UndoneCall | Failure> {
    try {
      return await undoCall(callId, order, this.#house);
    } catch (error) {
      this.#house.errors.report({ error, code: "E3801", callId, stage: "undo" });
      return error instanceof SallyportError ? error.failure : failure("E3900");
    }
  }

  /** What this host offers for tools in processes of their own; empty when the engine was given no sandbox. */
  async sandboxes(): Promise<SandboxOffer[]> {
    return (await this.#house.isolation?.sandbox.offers()) ?? [];
  }

  /** Hands the readings that wait to the meter now; otherwise that happens a few times a second. */
  flush(): void {
    this.#house.telemetry.flush();
  }

  /** Cancels what runs and waits until it is on record, ends every thread and hands over the last readings. The store stays its owner's to close. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const stop of this.#listening) stop();
    this.#house.inFlight.cancelAll("the engine is closing");
    await Promise.all(Object.values(this.#house.runners).map((runner?: Runner) => runner?.close()));
    await within(this.#house.inFlight.idle(), this.#house.limits.storeMs);
    this.#house.telemetry.flush();
  }
}

/** Wires an engine and loads the tools its store knows. Rejects when the store cannot be read. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const house = furnish(options);
  const { refused } = house.registry.loadRecords(await options.store.tools.all());
  for (const error of refused) house.errors.report({ error, code: error.code, stage: "load tools" });
  const disconnect = await house.authority.connect?.({ store: house.store, bus: house.bus });
  return new Engine(house, disconnect);
}

function furnish(options: EngineOptions): House {
  const clock = options.clock ?? systemClock;
  const ids = options.ids ?? uuidV7(() => clock.now());
  const errors = guarded(options.errors ?? new RecentErrors());
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const schemas = createSchemaCompiler();
  const inFlight = new InFlight();
  const { hooks = [], publish: publishing = true } = options;
  const house: House = {
    // The shelf needs the house and the house the shelf; it is there before anybody asks.
    get tools() {
      return tools;
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
    admission: new Admission(options.admission, () => clock.now()),
    runners: {
      inline: options.runners?.inline ?? createInlineRunner(),
      thread: options.runners?.thread ?? createThreadRunner(),
      process: options.runners?.process,
      script: options.runners?.script,
    },
    isolation: options.isolation,
    resultSteps: options.resultSteps ?? STRICT_RESULT,
    hooks: hooks.length > 0 ? createHookRunner(hooks, { maxMs: limits.hookMs, errors }) : undefined,
    telemetry: new Telemetry(options.meter ?? new MemoryMeter()),
    errors,
    clock,
    ids,
    random: options.random ?? Math.random,
    inFlight,
    limits,
    retry: { ...DEFAULT_RETRY, ...options.retry },
    owner: ids.next(),
  };
  const tools = new ToolShelf(house);
  return house;
}

function withoutMessages(store: Store): Store {
  const { calls, state, audit, outbox, tools, approvals, grants, revocations } = store;
  const commit: Store["commit"] = (unit) => store.commit({ ...unit, outbox: [] });
  const readers = { calls, state, audit, outbox, tools, approvals, grants, revocations };
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
