import { type Accepted, type CallAnswer, type Failure, failure, SallyportError } from "@sallyport/protocol";
import { judge, type Verdict } from "../journal/recover.ts";
import type { CallPlan } from "../loop/call-plan.ts";
import type { CallFilter } from "../ports/calls.ts";
import type { Runner } from "../ports/runner.ts";
import type { SandboxOffer } from "../ports/sandbox.ts";
import type { Revocation } from "../ports/tokens.ts";
import { ApprovalBook } from "./approval-book.ts";
import { type Cancellation, cancelCall } from "./cancel-call.ts";
import { followApprovals } from "./follow-approvals.ts";
import { type Adjustments, type EngineOptions, type Furnished, furnish } from "./furnish.ts";
import { GrantBook } from "./grant-book.ts";
import type { CallRequest, House } from "./house.ts";
import type { LiveFeed } from "./live-feed.ts";
import { acceptCall, performCall, resumeCall } from "./perform-call.ts";
import { type PlanRequest, planCall } from "./plan-call.ts";
import { closeByPerson, type PersonsWord, recover } from "./recovery.ts";
import { type RunningCall, runningCalls } from "./running.ts";
import { type CallStanding, standingOf } from "./standing.ts";
import type { ToolShelf } from "./tool-shelf.ts";
import { type UndoneCall, undoCall } from "./undo.ts";
import type { GoingOn } from "./waiting-call.ts";
import { endWithdrawn, type RevocationOrder, revokeToken } from "./withdraw.ts";
import { within } from "./within.ts";

/** The guarded passage, ready for calls. Made by `createEngine`. */
export class Engine {
  readonly tools: ToolShelf;
  readonly approvals: ApprovalBook;
  readonly grants: GrantBook;
  readonly #house: House;
  readonly #adjust: (changes: Adjustments) => void;
  readonly #listening: (() => void)[];
  #drained: Promise<Drained> | undefined;
  #inCharge = false;
  #closed = false;

  constructor({ house, adjust }: Furnished, disconnect?: () => void) {
    this.#house = house;
    this.#adjust = adjust;
    this.tools = house.tools;
    this.approvals = new ApprovalBook(house);
    this.grants = new GrantBook(house);
    house.telemetry.watch(() => ({ ...this.load(), running: house.admission.running }));
    this.#listening = [...endWithdrawn(house), ...(disconnect ? [disconnect] : [])];
  }

  /** What would become of a call, without making it: nothing is recorded and nothing runs. */
  plan(request: PlanRequest): Promise<CallPlan> {
    return planCall(request, this.#house);
  }

  /** Performs a call. Every ending is an answer; this never rejects. */
  call(request: CallRequest): Promise<CallAnswer> {
    return performCall(request, this.#house);
  }

  /**
   * Takes a call whose caller does not wait for it. Resolves once the call is on record and will have exactly one
   * outcome, whatever happens to this process; a call that may not run is answered at once.
   */
  accept(request: CallRequest): Promise<CallAnswer | Accepted> {
    this.#takeCharge();
    return acceptCall(request, this.#house);
  }

  /** Goes on with what is on record and only waits for room: left by an earlier process, or approved. Says how many. */
  takeUp(): Promise<number> {
    this.#takeCharge();
    return this.#house.queue.takeUp();
  }

  /** From here on this process goes on with calls that are approved; one that only looks or answers must not. */
  #takeCharge(): void {
    if (this.#inCharge || this.#closed) return;
    this.#inCharge = true;
    this.#listening.push(followApprovals(this.#house));
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

  /** Ends a call wherever it stands: queued, waiting for a person, or running. Undefined when there is none of that id. */
  cancelCall(callId: string, order: { reason: string }): Promise<Cancellation | undefined> {
    return cancelCall(callId, order, this.#house);
  }

  /** How a call stands; undefined when there is none of that id. */
  standing(callId: string): Promise<CallStanding | undefined> {
    return standingOf(callId, this.#house);
  }

  /**
   * The calls this process is working on, newest first, whether or not the journal has them: one that changes nothing is
   * on record only once it has ended.
   */
  running(filter: Pick<CallFilter, "tenant" | "agent" | "tool"> = {}): RunningCall[] {
    return runningCalls(filter, this.#house.inFlight);
  }

  /** The news of a call that is under way, from now on at the latest; undefined when it is not. */
  watch(callId: string): LiveFeed | undefined {
    const { feeds, inFlight } = this.#house;
    return feeds.get(callId) ?? (inFlight.get(callId) ? feeds.open(callId) : undefined);
  }

  /** How much is going on. */
  load(): Load {
    const { inFlight, admission, queue } = this.#house;
    const queued = queue.size;
    const accepting = inFlight.refusing === undefined && !this.#closed;
    return { running: inFlight.size, waiting: Math.max(0, admission.waiting - queued), queued, accepting };
  }

  /** New rules for whoever comes or waits from now on. */
  adjust(changes: Adjustments): void {
    this.#adjust(changes);
  }

  /**
   * Takes no more calls, lets those that run finish for so long, then ends the rest, on record. Accepted calls that have
   * not begun stay accepted. Afterwards the engine is closed.
   */
  drain({ withinMs }: { withinMs: number }): Promise<Drained> {
    this.#drained ??= this.#drain(withinMs);
    return this.#drained;
  }

  async #drain(withinMs: number): Promise<Drained> {
    const { inFlight, queue } = this.#house;
    queue.stop();
    const running = inFlight.refuseMore("The house is closing.");
    await within(inFlight.idle(), withinMs);
    const cut = inFlight.size;
    await this.close();
    return { finished: running - cut, cut };
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
    this.#house.queue.stop();
    this.#house.inFlight.cancelAll("the engine is closing");
    await Promise.all(Object.values(this.#house.runners).map((runner?: Runner) => runner?.close()));
    await within(this.#house.inFlight.idle(), this.#house.limits.storeMs);
    await within(this.#house.queue.idle(), this.#house.limits.storeMs);
    this.#house.telemetry.close();
  }
}

/** How much is going on in an engine. */
export interface Load {
  running: number;
  /** Calls whose callers wait for a place. */
  waiting: number;
  /** Accepted calls that wait for one. */
  queued: number;
  /** False once it is closing. */
  accepting: boolean;
}

/** How an engine was brought to rest. */
export interface Drained {
  finished: number;
  cut: number;
}

/** Wires an engine and loads the tools its store knows. Rejects when the store cannot be read. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const furnished = furnish(options);
  const { house } = furnished;
  const { refused } = house.registry.loadRecords(await options.store.tools.all());
  for (const error of refused) house.errors.report({ error, code: error.code, stage: "load tools" });
  const disconnect = await house.authority.connect?.({ store: house.store, bus: house.bus });
  return new Engine(furnished, disconnect);
}
