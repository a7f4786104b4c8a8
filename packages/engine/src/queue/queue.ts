import { setTimeout as sleep } from "node:timers/promises";
import { type CallAnswer, type Failure, failure, isFailure, type Priority } from "@sallyport/protocol";
import type { Slot } from "../admit/admission.ts";
import { agentKey } from "../admit/fair-queue.ts";
import { decodeOrder, type WaitingOrder } from "../approvals/order.ts";
import type { ResumeOptions } from "../approvals/suspended.ts";
import type { AcceptedCalls, EngineContext } from "../context.ts";
import { claimAll, heldWork } from "../fleet/claim-all.ts";
import { endQueued, isStillRunnable } from "../journal/recovery.ts";
import type { ClosingContext } from "../journal/unit.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { QueuedCall } from "../ports/calls.ts";

/** As many may be claimed at a time even when the queue is full, so that what others have left comes to its turn. */
const LEAST_CLAIMED = 16;
/** Pauses before a call is tried again that could not begin although it may: store or policy away, or a rate used up. */
const TRY_AGAIN_MS = [250, 1_000, 2_000, 5_000, 15_000, 60_000, 300_000];

type QueueContext = ClosingContext &
  Pick<EngineContext, "admission" | "limits" | "errors" | "bus" | "owner" | "inFlight" | "unrecorded">;

interface Task {
  call: QueuedCall;
  /** The approval by which the call goes on; this process has claimed it. Left out: it has claimed the call itself. */
  approvalId: string | undefined;
  controller: AbortController;
  /** It has had a slot. */
  started: boolean;
  /** It has a slot now. */
  isRunning: boolean;
  /** Another process may have it: it ends without a word. */
  isLetGo: boolean;
  /** Resolves when the queue has nothing more to do with it. */
  over: Promise<void>;
}

/**
 * The accepted calls. Each is on record before anybody is told of it, waits for a slot as long as it takes, and then
 * walks the whole passage anew, because what was decided when it came may no longer hold. A call that a person approved
 * and that nobody asks for again goes on the same way. One process holds a call at a time: the one that accepted it, until
 * that process ends or lets go of it for one that has room, which claims it.
 */
export class CallQueue implements AcceptedCalls {
  readonly #context: QueueContext;
  readonly #resume: (callId: string, options: ResumeOptions) => Promise<CallAnswer | Failure>;
  readonly #tasks = new Map<string, Task>();
  readonly #stop = new AbortController();
  /** Calls that it has let go of and holds on record still. */
  readonly #leaving = new Set<string>();
  #releases: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #reserved = 0;
  /** Waiting calls and reservations of each agent. */
  readonly #perAgent = new Map<string, number>();

  constructor(
    context: QueueContext,
    resume: (callId: string, options: ResumeOptions) => Promise<CallAnswer | Failure>,
  ) {
    this.#context = context;
    this.#resume = resume;
  }

  /** Calls that wait for a slot. */
  get size(): number {
    return this.#waiting;
  }

  /**
   * Keeps a place in the queue for a call that is being put on record; false when there is none. One agent gets at most
   * half of them, so that there are some for the others.
   */
  reserve(caller: Pick<QueuedCall, "tenant" | "agent">): boolean {
    const { queued } = this.#context.limits;
    const agent = agentKey(caller);
    if (this.#waiting + this.#reserved >= queued) return false;
    if ((this.#perAgent.get(agent) ?? 0) >= Math.max(1, Math.ceil(queued / 2))) return false;
    this.#reserved += 1;
    this.#count(agent, 1);
    return true;
  }

  /** The call is in the queue now, or does not come. */
  unreserve(caller: Pick<QueuedCall, "tenant" | "agent">): void {
    this.#reserved -= 1;
    this.#count(agentKey(caller), -1);
  }

  /** Takes charge of a call that this process holds, as queued or by its approval. False when it has already. */
  push(call: QueuedCall, approvalId?: string): boolean {
    const { callId } = call;
    if (this.#tasks.has(callId)) return false;
    const flags = { started: false, isRunning: false, isLetGo: false };
    const task: Task = {
      call,
      approvalId,
      controller: new AbortController(),
      ...flags,
      over: Promise.resolve(),
    };
    if (this.#stop.signal.aborted) {
      void this.#letGo([task]);
      return false;
    }
    this.#tasks.set(callId, task);
    this.#waiting += 1;
    this.#count(agentKey(call), 1);
    this.#context.feeds.open(callId);
    task.over = this.#runToEnd(task).finally(() => {
      this.#tasks.delete(callId);
      // Another process may have run or ended it: nobody here is going to say so.
      if (this.#context.store.isShared) this.#context.feeds.drop(callId);
    });
    return true;
  }

  /** Takes up what it holds, and claims what can go on and nobody holds, as much as there is room for. Says how many. */
  async claim(): Promise<number> {
    let claimed = await this.takeUpHeld();
    for await (const call of claimAll("queued", this.#context, this.#room)) if (this.push(call)) claimed += 1;
    claimed += await this.claimApproved();
    if (claimed === 0) await this.#askOthers();
    return claimed;
  }

  /** Claims calls to which a person has said yes, unless their callers are going to ask for them. Says how many. */
  async claimApproved(): Promise<number> {
    let claimed = 0;
    for await (const record of claimAll("approved", this.#context, this.#room))
      if (this.#pushApproved(record)) claimed += 1;
    return claimed;
  }

  #pushApproved({ approvalId, callId, tenant, agent, tool, createdAt: queuedAt }: ApprovalRecord): boolean {
    return this.push({ callId, tenant, agent, tool, priority: "normal", queuedAt }, approvalId);
  }

  /**
   * Takes up what the record says this process holds and it has not in hand: an acceptance or a claim whose answer was
   * lost. Says how many.
   */
  async takeUpHeld(): Promise<number> {
    const { inFlight, unrecorded } = this.#context;
    const inHand = [...this.#tasks.keys(), ...this.#leaving, ...inFlight.ids(), ...unrecorded.landing()];
    let taken = 0;
    if (this.#stop.signal.aborted) return taken;
    for await (const call of heldWork("queued", this.#context, inHand))
      if (this.#isMissing(call) && this.push(call)) taken += 1;
    for await (const record of heldWork("approved", this.#context, inHand))
      if (this.#isMissing(record) && this.#pushApproved(record)) taken += 1;
    return taken;
  }

  /** Neither being accepted or run here, nor being let go of. */
  #isMissing({ callId }: { callId: string }): boolean {
    return !this.#leaving.has(callId) && this.#context.inFlight.get(callId) === undefined;
  }

  get #room(): number {
    return Math.max(LEAST_CLAIMED, this.#context.limits.queued - this.#waiting - this.#reserved);
  }

  /** Exchanges calls with other processes: they get what waits here while they have room. Returns how to stop that. */
  share(): () => void {
    const { bus, owner, errors } = this.#context;
    return bus.subscribe("queue:updates", ({ from, room }) => {
      if (from === owner) return;
      const isAsking = typeof room === "number";
      const done = isAsking ? this.#give(room) : this.#waiting === 0 ? this.claim() : undefined;
      done?.catch((error) => errors.report({ error, code: "E3914", stage: "queue" }));
    });
  }

  /** Says that there is room here, when all that is queued is held by others. */
  async #askOthers(): Promise<void> {
    const { admission, bus, owner, store } = this.#context;
    const room = admission.free;
    if (!store.isShared || this.#waiting > 0 || room === 0 || (await store.queue.size()) === 0) return;
    bus.publish("queue:updates", { from: owner, room });
  }

  /** Lets go of up to half of what waits here, the last to come first; what somebody watches stays. */
  async #give(room: number): Promise<void> {
    const { feeds } = this.#context;
    const waiting = [...this.#tasks.values()].filter((task) => !task.started && !isCancelled(task));
    const most = Math.min(room, Math.ceil(waiting.length / 2));
    const given: Task[] = [];
    for (const task of waiting.reverse())
      if (given.length < most && !feeds.get(task.call.callId)?.isAwaited) given.push(task);
    await this.#letGo(given);
  }

  /** Lets go of everything that has no slot, so that other processes can claim it. */
  letGo(): void {
    void this.#letGo([...this.#tasks.values()].filter((task) => !task.isRunning && !isCancelled(task)));
  }

  #letGo(tasks: readonly Task[]): Promise<void> {
    for (const task of tasks) {
      task.isLetGo = true;
      task.controller.abort();
      this.#leaving.add(task.call.callId);
    }
    const released = this.#release(tasks).finally(() => {
      for (const { call } of tasks) this.#leaving.delete(call.callId);
    });
    this.#releases = Promise.all([this.#releases, released]);
    return released;
  }

  /** What could not be released is still held by this process, so it goes on with it. */
  async #release(tasks: readonly Task[]): Promise<void> {
    if (tasks.length === 0) return;
    await Promise.all(tasks.map(({ over }) => over));
    const { bus, store, owner: instance } = this.#context;
    const queued = tasks.flatMap(({ call, approvalId }) => (approvalId === undefined ? [call.callId] : []));
    const approved = tasks.flatMap(({ approvalId }) => approvalId ?? []);
    try {
      if (queued.length > 0) await store.work.release({ kind: "queued", instance, ids: queued });
      if (approved.length > 0) await store.work.release({ kind: "approved", instance, ids: approved });
      bus.publish("queue:updates", { from: instance });
    } catch (error) {
      this.#context.errors.report({ error, code: "E3914", stage: "queue" });
      if (this.#stop.signal.aborted) return;
      for (const { call, approvalId } of tasks) this.push(call, approvalId);
    }
  }

  /** Whether the call that this question is about goes on by itself after a yes; false once the call has run. */
  async goesOn(approvalId: string): Promise<boolean> {
    return (await this.#unattended(approvalId)) !== undefined;
  }

  async #unattended(approvalId: string): Promise<WaitingOrder | undefined> {
    const text = await this.#context.store.approvals.order(approvalId);
    const order = text === undefined ? undefined : decodeOrder(text);
    return order?.unattended ? order : undefined;
  }

  /**
   * Asks a call to stop, whether it waits for its slot or runs. Resolves when that is on record; undefined when the
   * queue does not have it.
   */
  cancel(callId: string, reason: string): Promise<void> | undefined {
    const task = this.#tasks.get(callId);
    task?.controller.abort(reason);
    return task?.over;
  }

  /** Starts nothing any more: what waits stays on record, for others; what runs, runs on. */
  stop(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.letGo();
  }

  /** Resolves when the last call it has charge of has ended, and others can have what has not begun. */
  async idle(): Promise<void> {
    await Promise.allSettled([...this.#tasks.values()].map(({ over }) => over));
    await this.#releases;
  }

  async #runToEnd(task: Task): Promise<void> {
    const { call } = task;
    let last: Failure | undefined;
    try {
      for (const pause of TRY_AGAIN_MS) {
        last = await this.#tryRun(task);
        if (!last) return;
        await this.#pause(pause, task);
        if (task.isLetGo) return;
      }
      await endQueued(call.callId, last ?? failure("E3910"), this.#context);
      void this.#letGo([task]);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#report(error, call);
      void this.#letGo([task]);
    } finally {
      this.#markStarted(task);
    }
  }

  /** Cut short by the end of the engine, and by a cancellation that has not been acted on yet. */
  async #pause(ms: number, { controller }: Task): Promise<void> {
    const { signal: stop } = this.#stop;
    const signal = controller.signal.aborted ? stop : AbortSignal.any([stop, controller.signal]);
    await sleep(ms, undefined, { signal }).catch(() => undefined);
    stop.throwIfAborted();
  }

  /** Waits for a slot and runs the call. The reason, when the call could not begin and has to be tried again. */
  async #tryRun(task: Task): Promise<Failure | undefined> {
    const { callId, tenant, agent, tool } = task.call;
    const { signal } = task.controller;
    let slot: Slot | Failure | undefined;
    try {
      const priority = await this.#priorityOf(task);
      slot = await this.#context.admission.enter({ tenant, agent, tool, priority, signal, background: true });
      if (task.isLetGo) return undefined;
      if (isFailure(slot)) {
        const message = `Cancelled before it ran: ${String(signal.reason)}`;
        await endQueued(callId, failure("E3906", { message }), this.#context);
        return undefined;
      }
      this.#markStarted(task);
      task.isRunning = true;
      const answer = await this.#resume(callId, { slot, signal });
      const error = isFailure(answer) ? answer : answer.status === "success" ? undefined : answer.error;
      if (!error || this.#stop.signal.aborted) return undefined;
      return (await isStillRunnable(callId, this.#context)) ? error : undefined;
    } catch (error) {
      this.#report(error, { callId, tool });
      return failure("E3914");
    } finally {
      task.isRunning = false;
      if (slot && !isFailure(slot)) slot.release();
    }
  }

  async #priorityOf({ call, approvalId }: Task): Promise<Priority> {
    if (approvalId === undefined) return call.priority;
    return (await this.#unattended(approvalId))?.priority ?? call.priority;
  }

  #markStarted(task: Task): void {
    if (task.started) return;
    task.started = true;
    this.#waiting -= 1;
    this.#count(agentKey(task.call), -1);
  }

  #count(agent: string, by: 1 | -1): void {
    const count = (this.#perAgent.get(agent) ?? 0) + by;
    if (count > 0) this.#perAgent.set(agent, count);
    else this.#perAgent.delete(agent);
  }

  #report(error: unknown, { callId, tool }: Pick<QueuedCall, "callId" | "tool">): void {
    this.#context.errors.report({ error, code: "E3914", callId, tool, stage: "queue" });
  }
}

function isCancelled({ controller }: Task): boolean {
  return controller.signal.aborted;
}
