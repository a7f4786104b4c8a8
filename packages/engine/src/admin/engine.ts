import {
  type Accepted,
  type CallAnswer,
  type Failure,
  failure,
  isFailure,
  SallyportError,
} from "@sallyport/protocol";
import { Approvals } from "../approvals/approvals.ts";
import { type CallPlan, type PlanRequest, planCall } from "../approvals/evaluate.ts";
import type { ResumeOptions } from "../approvals/suspended.ts";
import { everySoOften } from "../change-follower.ts";
import type { CallRequest, EngineContext } from "../context.ts";
import { bindManifest } from "../execute/index.ts";
import { closeByPerson, type ManualClose, Recovery, type RecoveryVerdict } from "../journal/recovery.ts";
import { acceptCall, performCall, resumeCall } from "../passage/run.ts";
import type { DoorRefusal } from "../passage/unknown-callers.ts";
import type { CallFilter } from "../ports/calls.ts";
import type { Revocation } from "../ports/grants.ts";
import type { SandboxOffer } from "../ports/sandbox.ts";
import type { EventBacklogs } from "../publish/index.ts";
import type { CallQueue } from "../queue/queue.ts";
import {
  type CallStanding,
  type Cancellation,
  cancelCall,
  cancelClaimed,
  standingOf,
} from "../running/call-status.ts";
import type { LiveFeed } from "../running/live-feed.ts";
import type { RunningCall } from "../running/running-calls.ts";
import type { Load as MeasuredLoad } from "../telemetry/metrics.ts";
import { withTimeout } from "../timeouts.ts";
import { type Adjustments, type Composed, composeEngine, type EngineOptions } from "./compose.ts";
import { Grants } from "./grants.ts";
import { endWithdrawn, type RevocationOrder, revokeToken, watchedSources } from "./tokens.ts";
import type { Tools } from "./tools.ts";
import { type UndoneCall, undoCall } from "./undo.ts";

/** The guarded passage, ready for calls. Made by `createEngine`. */
export class Engine {
  readonly tools: Tools;
  readonly approvals: Approvals;
  readonly grants: Grants;
  /** What waits for the event sinks. */
  readonly events: EventBacklogs;
  readonly #context: EngineContext;
  readonly #queue: CallQueue;
  readonly #anchors: Composed["anchors"];
  readonly #recovery: Recovery;
  readonly #adjust: (changes: Adjustments) => void;
  readonly #listening: (() => void)[];
  #drained: Promise<Drained> | undefined;
  #inCharge = false;
  #comparing: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor({ context, tools, queue, anchors, backlogs, adjust }: Composed, disconnect?: () => void) {
    this.#context = context;
    this.#queue = queue;
    this.#anchors = anchors;
    this.#recovery = new Recovery(context);
    this.#adjust = adjust;
    this.tools = tools;
    this.events = backlogs;
    this.approvals = new Approvals(context);
    this.grants = new Grants(context);
    context.telemetry.watch(() => ({ ...this.load(), running: context.admission.running }));
    const onProblem = (error: unknown) =>
      context.errors.report({ error, code: "E3914", stage: "follow tools" });
    this.#listening = [
      ...endWithdrawn(context),
      tools.listen(onProblem),
      everySoOften(context.store.isShared ? context.limits.followMs : Infinity, () => {
        // A store that is away now is read the next time.
        void tools.follow().catch(() => undefined);
        void cancelClaimed(context).catch(() => undefined);
      }),
      everySoOften(context.limits.followMs, () => void this.#compare()),
      context.elsewhere.listen(),
      ...(disconnect ? [disconnect] : []),
    ];
  }

  /** What would become of a call, without making it: nothing is recorded and nothing runs. */
  plan(request: PlanRequest): Promise<CallPlan> {
    return planCall(request, this.#context);
  }

  /** Performs a call. Every ending is an answer; this never rejects. */
  call(request: CallRequest): Promise<CallAnswer> {
    return performCall(request, this.#context);
  }

  /**
   * Takes a call whose caller does not wait for it. Resolves once the call is on record and will have exactly one
   * outcome, whatever happens to this process; a call that may not run is answered at once.
   */
  accept(request: CallRequest): Promise<CallAnswer | Accepted> {
    this.#takeCharge();
    return acceptCall(request, this.#context);
  }

  /**
   * Goes on with what is on record, only waits for room and is held by no process: left by one that has ended, let go by
   * one that is busy, or approved. Says how many.
   */
  claimQueued(): Promise<number> {
    this.#takeCharge();
    return this.#queue.claim();
  }

  /**
   * Puts the newest links of the other processes' audit strands on record in this one's, where they have moved. To be
   * called now and then; says for how many tenants it did. Rejects when the store is lost.
   */
  anchorStrands(): Promise<number> {
    return this.#anchors.write();
  }

  /** From here on this process goes on with calls that are approved; one that only looks or answers must not. */
  #takeCharge(): void {
    if (this.#inCharge || this.#closed) return;
    this.#inCharge = true;
    this.#listening.push(followApprovals(this.#context, this.#queue), this.#queue.share());
  }

  /** Once at a time. */
  #compare(): Promise<void> {
    this.#comparing ??= this.#compareNow().finally(() => {
      this.#comparing = undefined;
    });
    return this.#comparing;
  }

  /** A store that is away now is compared the next time. */
  async #compareNow(): Promise<void> {
    try {
      await this.#recovery.settleHeld();
      if (this.#inCharge) await this.#queue.takeUpHeld();
    } catch (error) {
      if (!(error instanceof SallyportError))
        this.#context.errors.report({ error, code: "E3900", stage: "compare with the record" });
    }
  }

  /** Whether this process runs the call by itself once it is approved, so that nobody has to resume it. */
  async goesOnByItself(approvalId: string): Promise<boolean> {
    return this.#inCharge && (await this.#queue.goesOn(approvalId));
  }

  /** Goes on with a call that waits for approval; answers how it stands when it has to wait still. */
  resume(callId: string, goingOn: ResumeOptions = {}): Promise<CallAnswer | Failure> {
    return resumeCall(callId, goingOn, this.#context);
  }

  /** From here on nobody accepts the token, in any process; calls that run by it end. */
  revokeToken(order: RevocationOrder): Promise<Revocation | Failure> {
    return revokeToken(order, this.#context);
  }

  /** Puts on record that a door refused somebody who has shown nothing, within a budget; never rejects. */
  recordRefusal(refusal: DoorRefusal): Promise<void> {
    return this.#context.unknownCallers.record(refusal);
  }

  /** Ends a call wherever it stands: queued, waiting for a person, or running. Undefined when there is none of that id. */
  cancelCall(callId: string, order: { reason: string }): Promise<Cancellation | undefined> {
    return cancelCall(callId, order, this.#context);
  }

  /** How a call stands; undefined when there is none of that id. */
  standing(callId: string): Promise<CallStanding | undefined> {
    return standingOf(callId, this.#context);
  }

  /**
   * The calls this process, and no other, is working on, newest first, whether or not the journal has them: one that changes nothing is
   * on record only once it has ended.
   */
  running(filter: Pick<CallFilter, "tenant" | "agent" | "tool"> = {}): RunningCall[] {
    return this.#context.inFlight.list(filter);
  }

  /**
   * The news of a call that is under way, in whichever process, from now on at the latest; undefined when none is to be had.
   * Given the feed from before: the same, as long as it is good.
   */
  watch(callId: string, current?: object): Promise<LiveFeed | undefined> {
    return this.#context.elsewhere.watch(callId, current);
  }

  /** The name under which this process has its lease on the store and claims work. */
  get instance(): string {
    return this.#context.owner;
  }

  /** How much is going on. */
  load(): Load {
    const { inFlight, admission } = this.#context;
    const queued = this.#queue.size;
    const accepting = inFlight.refusing === undefined;
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
    const { inFlight } = this.#context;
    this.#queue.stop();
    const running = inFlight.refuseMore("The engine is closing.");
    await withTimeout(inFlight.idle(), withinMs);
    const cut = inFlight.size;
    await this.close();
    return { finished: running - cut, cut };
  }

  /** Gives each call that an earlier process left open its verdict and records it. Never runs anything. */
  recover(): Promise<RecoveryVerdict[]> {
    return this.#recovery.recover();
  }

  /** The same for what processes have left that are gone since; each call is judged by one of those that look. */
  judgeOrphans(): Promise<RecoveryVerdict[]> {
    return this.#recovery.judgeOrphans();
  }

  /** Closes a call of unknown outcome by a person's decision. */
  closeByPerson(word: ManualClose): Promise<CallAnswer | Failure> {
    return closeByPerson(word, this.#context);
  }

  /** Takes back what a committed call did to files, when they are still what it left. */
  async undo(callId: string, order: { by: string; tenant?: string }): Promise<UndoneCall | Failure> {
    try {
      return await undoCall(callId, order, this.#context);
    } catch (error) {
      this.#context.errors.report({ error, code: "E3801", callId, stage: "undo" });
      return error instanceof SallyportError ? error.failure : failure("E3900");
    }
  }

  /** What this host offers for tools in processes of their own; empty when the engine was given no sandbox. */
  async sandboxes(): Promise<SandboxOffer[]> {
    return (await this.#context.isolation?.sandbox.offers()) ?? [];
  }

  /** Hands the readings that wait to the meter now; otherwise that happens a few times a second. */
  flush(): void {
    this.#context.telemetry.flush();
  }

  /** Cancels what runs and waits until it is on record, ends every thread and hands over the last readings. The store stays its owner's to close. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const stop of this.#listening) stop();
    this.#queue.stop();
    this.#context.inFlight.refuseMore("The engine is closed.");
    this.#context.inFlight.cancelAll("the engine is closing");
    await Promise.all([...this.#context.runners.values()].map((runner) => runner.close()));
    await withTimeout(this.#context.inFlight.idle(), this.#context.limits.storeMs);
    await withTimeout(this.#queue.idle(), this.#context.limits.storeMs);
    // One that is under way may have begun before the last calls ended.
    if (this.#comparing) await withTimeout(this.#comparing, this.#context.limits.storeMs);
    // What is known here and owed to the record: others would have to call it unknown.
    if (!this.#context.unrecorded.isEmpty) await withTimeout(this.#compare(), this.#context.limits.storeMs);
    await this.#context.unknownCallers.tellLeftOut();
    await this.#context.membership.leave();
    this.#context.telemetry.close();
  }
}

/** How much is going on in an engine. */
export interface Load extends MeasuredLoad {
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
  const composed = composeEngine(options);
  const { context } = composed;
  await context.membership.join();
  const report = (error: Failure) => context.errors.report({ error, code: error.code, stage: "load tools" });
  const refused = context.registry.loadRecords(
    (await context.store.tools.changedSince()).changed,
    (manifest) => {
      const bound = bindManifest(manifest, context.runners);
      if (!bound || !isFailure(bound)) return bound;
      report(bound);
      return undefined;
    },
  );
  for (const error of refused) report(error);
  const followMs = context.store.isShared ? context.limits.followMs : Infinity;
  const sources = { ...watchedSources(context), bus: context.bus, followMs };
  const disconnect = await context.authority.connect?.(sources);
  return new Engine(composed, disconnect);
}

/** A yes sets calls going that nobody waits for. Returns how to stop listening. */
function followApprovals(context: EngineContext, queue: CallQueue): () => void {
  return context.bus.subscribe("approvals:updates", ({ state }) => {
    if (state !== "approved" && state !== "edited") return;
    queue
      .claimApproved()
      .catch((error) => context.errors.report({ error, code: "E3914", stage: "approved call" }));
  });
}
