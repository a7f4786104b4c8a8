import { setTimeout as sleep } from "node:timers/promises";
import {
  type CallAnswer,
  defined,
  type Failure,
  failure,
  isFailure,
  SallyportError,
} from "@sallyport/protocol";
import { agentKey } from "../admit/fair-queue.ts";
import { decodeOrder, encodeOrder, type WaitingOrder } from "../approvals/order.ts";
import { isUnspent, standingAt } from "../approvals/record.ts";
import type { ResumeOptions } from "../approvals/suspended.ts";
import type { AcceptedCalls, EngineContext } from "../context.ts";
import { conflictFailure } from "../journal/conflicts.ts";
import { endQueued, isStillRunnable } from "../journal/recovery.ts";
import type { ClosingContext } from "../journal/unit.ts";
import { intentOf } from "../journal/unit.ts";
import { readAll } from "../pages.ts";
import { type Allowed, abortBeforeStart, type Ending, Queued } from "../passage/steps.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { QueuedCall } from "../ports/calls.ts";

/** Pauses before a call is tried again that could not begin although it may: store or policy away, or a rate used up. */
const TRY_AGAIN_MS = [250, 1_000, 2_000, 5_000, 15_000, 60_000, 300_000];

type QueueContext = ClosingContext & Pick<EngineContext, "admission" | "limits" | "errors">;

interface Task {
  agent: string;
  controller: AbortController;
  started: boolean;
  /** Resolves when the queue has nothing more to do with it. */
  over: Promise<void>;
}

/**
 * The accepted calls. Each is on record before anybody is told of it, waits for a slot as long as it takes, and then
 * walks the whole passage anew, because what was decided when it came may no longer hold. What still waits when the
 * process ends, the next one claims. A call that a person approved and that nobody asks for again goes on the same way.
 */
export class CallQueue implements AcceptedCalls {
  readonly #context: QueueContext;
  readonly #resume: (callId: string, options: ResumeOptions) => Promise<CallAnswer | Failure>;
  readonly #tasks = new Map<string, Task>();
  readonly #stop = new AbortController();
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

  /** Takes charge of a call that is on record as queued, or as approved. False when somebody has already. */
  push(call: QueuedCall): boolean {
    const { callId } = call;
    if (this.#stop.signal.aborted || this.#tasks.has(callId)) return false;
    const agent = agentKey(call);
    const task: Task = { agent, controller: new AbortController(), started: false, over: Promise.resolve() };
    this.#tasks.set(callId, task);
    this.#waiting += 1;
    this.#count(agent, 1);
    this.#context.feeds.open(callId);
    task.over = this.#runToEnd(call, task).finally(() => {
      this.#tasks.delete(callId);
      // Another process may have run or ended it: nobody here is going to say so.
      if (this.#context.store.isShared) this.#context.feeds.drop(callId);
    });
    return true;
  }

  /** Claims what is on record and can go on: left by an earlier process, or approved meanwhile. Says how many. */
  async claim(): Promise<number> {
    const { queue, approvals } = this.#context.store;
    let claimed = 0;
    const queued = readAll<QueuedCall>(
      ({ limit, from }) => queue.list({ limit, ...defined({ after: from }) }),
      ({ callId }) => callId,
    );
    for await (const call of queued) if (this.push(call)) claimed += 1;
    const approved = readAll<ApprovalRecord>(
      ({ limit, from }) =>
        approvals.list({ states: ["approved", "edited"], limit, ...defined({ before: from }) }),
      ({ approvalId }) => approvalId,
    );
    for await (const record of approved) if (await this.approved(record)) claimed += 1;
    return claimed;
  }

  /** A person has said yes: goes on with the call, unless its caller is going to ask for it. */
  async approved(record: ApprovalRecord): Promise<boolean> {
    if (!isUnspent(standingAt(record, this.#context.clock.now()))) return false;
    const order = await this.#unattended(record.approvalId);
    if (!order) return false;
    const { callId, tenant, agent, tool, createdAt: queuedAt } = record;
    return this.push({ callId, tenant, agent, tool, priority: order.priority ?? "normal", queuedAt });
  }

  /** Whether `approved` goes on with the call that this question is about; false once the call has run. */
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

  /** Starts nothing any more: what waits stays on record; what runs, runs on. */
  stop(): void {
    this.#stop.abort();
    for (const { controller, started } of this.#tasks.values()) if (!started) controller.abort();
  }

  /** Resolves when the last call it has charge of has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled([...this.#tasks.values()].map(({ over }) => over));
  }

  async #runToEnd(call: QueuedCall, task: Task): Promise<void> {
    let last: Failure | undefined;
    try {
      for (const pause of TRY_AGAIN_MS) {
        last = await this.#tryRun(call, task);
        if (!last) return;
        await this.#pause(pause, task);
      }
      await endQueued(call.callId, last ?? failure("E3910"), this.#context);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#report(error, call);
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
  async #tryRun(call: QueuedCall, task: Task): Promise<Failure | undefined> {
    const { callId, tenant, agent, tool, priority } = call;
    const { signal } = task.controller;
    const request = { tenant, agent, tool, priority, signal, background: true };
    const slot = await this.#context.admission.enter(request);
    try {
      if (this.#stop.signal.aborted) return undefined;
      if (isFailure(slot)) {
        const message = `Cancelled before it ran: ${String(signal.reason)}`;
        await endQueued(callId, failure("E3906", { message }), this.#context);
        return undefined;
      }
      this.#markStarted(task);
      const answer = await this.#resume(callId, { slot, signal });
      const error = isFailure(answer) ? answer : answer.status === "success" ? undefined : answer.error;
      if (!error || this.#stop.signal.aborted) return undefined;
      return (await isStillRunnable(callId, this.#context)) ? error : undefined;
    } catch (error) {
      this.#report(error, { callId, tool });
      return failure("E3914");
    } finally {
      if (!isFailure(slot)) slot.release();
    }
  }

  #markStarted(task: Task): void {
    if (task.started) return;
    task.started = true;
    this.#waiting -= 1;
    this.#count(task.agent, -1);
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

/** Puts a call on record that may run, so that it can be acknowledged: whatever happens now, it has an outcome. */
export async function enqueue(at: Allowed, context: EngineContext): Promise<Queued | Ending> {
  const { queue, limits, clock } = context;
  const { attempt, tool } = at;
  const { callId, tenant, agent } = attempt.call;
  if (!queue.reserve({ tenant, agent })) {
    const { queued } = limits;
    const message = `${queued} accepted calls wait already.`;
    return abortBeforeStart(at, failure("E3910", { message, details: { queued } }));
  }
  const { priority = "normal" } = attempt.request;
  const call = { callId, tenant, agent, tool: tool.manifest.id, priority, queuedAt: clock.now() };
  const refused = await putOnRecord(at, call, context);
  if (!refused) return new Queued(call, at.progress);
  queue.unreserve(call);
  return abortBeforeStart(at, refused);
}

async function putOnRecord(
  { attempt, progress, tool, input }: Allowed,
  call: QueuedCall,
  context: EngineContext,
): Promise<Failure | undefined> {
  const { callId, queuedAt } = call;
  const { idempotencyKey } = attempt.request;
  const events = attempt.log.unit({ kind: "QUEUED", at: queuedAt, progress });
  try {
    const result = await context.store.commit({
      tenant: call.tenant,
      open: { ...intentOf(attempt, tool, context), ...defined({ idempotencyKey }), phase: "queued" },
      enqueue: { ...call, order: encodeOrder(attempt, { progress, tool, input, attempts: 0 }) },
      audit: events.audit,
    });
    if (!result.ok) return conflictFailure(result.conflict, { callId, what: "call", at: queuedAt });
    attempt.log.stored(events);
    return undefined;
  } catch (error) {
    context.errors.report({ error, code: "E3914", callId, stage: "queue" });
    return error instanceof SallyportError ? error.failure : failure("E3914");
  }
}
