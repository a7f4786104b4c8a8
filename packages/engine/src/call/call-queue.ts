import { setTimeout as sleep } from "node:timers/promises";
import { type CallAnswer, type Failure, failure, isFailure } from "@sallyport/protocol";
import type { Place } from "../admit/admission.ts";
import { agentKey } from "../admit/agent-key.ts";
import { decodeOrder } from "../approve/order.ts";
import { isUnspent, standingAt } from "../approve/settle.ts";
import type { ApprovalRecord, ApprovalState } from "../ports/approvals.ts";
import type { QueuedCall } from "../ports/queue.ts";
import { couldStillBegin, endQueued } from "./end-queued.ts";
import type { House } from "./house.ts";
import type { GoingOn } from "./waiting-call.ts";

const PAGE = 200;
/** Before a call is tried again that could not be begun although it may: store or policy away, or no more of a rate. */
const TRY_AGAIN_MS = [250, 1_000, 2_000, 5_000, 15_000, 60_000, 300_000];

type Resume = (callId: string, goingOn: GoingOn, house: House) => Promise<CallAnswer | Failure>;

interface Task {
  who: string;
  controller: AbortController;
  begun: boolean;
  /** Resolves when the queue has nothing more to do with it. */
  over: Promise<void>;
}

/**
 * The accepted calls. Each is on record before anybody is told of it, waits for a place as long as it takes, and then
 * walks the whole passage anew, because what was decided when it came may no longer hold. What still waits when the
 * process ends, the next one takes up. A call that a person approved and that nobody asks for again goes on the same way.
 */
export class CallQueue {
  readonly #house: House;
  readonly #resume: Resume;
  readonly #tasks = new Map<string, Task>();
  readonly #runs = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #waiting = 0;
  #reserved = 0;
  /** Of those that wait, and of the places kept. */
  readonly #perAgent = new Map<string, number>();

  constructor(house: House, resume: Resume) {
    this.#house = house;
    this.#resume = resume;
  }

  /** Calls that wait for a place. */
  get size(): number {
    return this.#waiting;
  }

  /**
   * Keeps a place in the queue for a call that is being put on record; false when there is none. One agent gets at most
   * half of them, so that there are some for the others.
   */
  reserve(who: Pick<QueuedCall, "tenant" | "agent">): boolean {
    const { queued } = this.#house.limits;
    if (this.#waiting + this.#reserved >= queued) return false;
    if ((this.#perAgent.get(agentKey(who)) ?? 0) >= Math.max(1, Math.ceil(queued / 2))) return false;
    this.#reserved += 1;
    this.#count(agentKey(who), 1);
    return true;
  }

  /** The call is in the queue now, or does not come. */
  unreserve(who: Pick<QueuedCall, "tenant" | "agent">): void {
    this.#reserved -= 1;
    this.#count(agentKey(who), -1);
  }

  /** Takes charge of a call that is on record as queued, or as approved. False when somebody has already. */
  push(call: QueuedCall): boolean {
    const { callId } = call;
    if (this.#stop.signal.aborted || this.#tasks.has(callId)) return false;
    const who = agentKey(call);
    const task: Task = { who, controller: new AbortController(), begun: false, over: Promise.resolve() };
    this.#tasks.set(callId, task);
    this.#waiting += 1;
    this.#count(who, 1);
    this.#house.feeds.open(callId);
    const run = this.#takeThrough(call, task).finally(() => {
      this.#tasks.delete(callId);
      this.#runs.delete(run);
    });
    task.over = run;
    this.#runs.add(run);
    return true;
  }

  /** Takes up what is on record and can go on: left by an earlier process, or approved meanwhile. Says how many. */
  async takeUp(): Promise<number> {
    return (await this.#takeUpQueued()) + (await this.#takeUpApproved());
  }

  async #takeUpQueued(): Promise<number> {
    const { store } = this.#house;
    let taken = 0;
    for (let after: string | undefined; ; ) {
      const page = await store.queue.list({ limit: PAGE, ...(after !== undefined && { after }) });
      taken += page.filter((call) => this.push(call)).length;
      after = page.at(-1)?.callId;
      if (page.length < PAGE) return taken;
    }
  }

  async #takeUpApproved(): Promise<number> {
    const { store } = this.#house;
    const states: ApprovalState[] = ["approved", "edited"];
    let taken = 0;
    for (let before: string | undefined; ; ) {
      const page = await store.approvals.list({
        states,
        limit: PAGE,
        ...(before !== undefined && { before }),
      });
      for (const record of page) if (await this.approved(record)) taken += 1;
      before = page.at(-1)?.approvalId;
      if (page.length < PAGE) return taken;
    }
  }

  /** A person has said yes: goes on with the call, unless its caller is going to ask for it. */
  async approved(record: ApprovalRecord): Promise<boolean> {
    const { store, clock } = this.#house;
    if (!isUnspent(standingAt(record, clock.now()))) return false;
    const text = await store.approvals.order(record.approvalId);
    const order = text === undefined ? undefined : decodeOrder(text);
    if (!order?.unattended) return false;
    const { callId, tenant, agent, tool, createdAt } = record;
    const priority = order.priority ?? "normal";
    return this.push({ callId, tenant, agent, tool, priority, queuedAt: createdAt });
  }

  /**
   * Asks a call to stop, whether it waits for its place or runs. Resolves when that is on record; undefined when the
   * queue does not have it.
   */
  cancel(callId: string, reason: string): Promise<void> | undefined {
    const task = this.#tasks.get(callId);
    task?.controller.abort(reason);
    return task?.over;
  }

  /** Begins nothing any more: what waits stays on record. Resolves once nobody waits here; what runs, runs on. */
  stop(): void {
    this.#stop.abort();
    for (const { controller, begun } of this.#tasks.values()) if (!begun) controller.abort();
  }

  /** Resolves when the last run has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#runs);
  }

  async #takeThrough(call: QueuedCall, task: Task): Promise<void> {
    let last: Failure | undefined;
    try {
      for (const pause of TRY_AGAIN_MS) {
        const outcome = await this.#go(call, task);
        if (outcome === "done") return;
        last = outcome;
        await this.#pause(pause, task);
      }
      const message = "It could not be begun.";
      await endQueued(call.callId, last ?? failure("E3910", { message }), this.#house);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#report(error, call);
    } finally {
      this.#begun(task);
    }
  }

  /** Cut short by the end of the house, and by a cancellation that has not been acted on yet. */
  async #pause(ms: number, { controller }: Task): Promise<void> {
    const { signal: stop } = this.#stop;
    const signal = controller.signal.aborted ? stop : AbortSignal.any([stop, controller.signal]);
    await sleep(ms, undefined, { signal }).catch(() => undefined);
    stop.throwIfAborted();
  }

  /** Waits for a place and goes on; the reason when the call could still begin and has to be tried again. */
  async #go(call: QueuedCall, task: Task): Promise<"done" | Failure> {
    const place = await this.#place(call, task);
    try {
      if (this.#stop.signal.aborted) return "done";
      if (isFailure(place)) return await this.#cancelled(call, task);
      this.#begun(task);
      const { signal } = task.controller;
      const answer = await this.#resume(call.callId, { place, signal }, this.#house);
      const error = isFailure(answer) ? answer : answer.status === "success" ? undefined : answer.error;
      if (!error || this.#stop.signal.aborted) return "done";
      return (await couldStillBegin(call.callId, this.#house)) ? error : "done";
    } catch (error) {
      this.#report(error, call);
      return failure("E3914");
    } finally {
      if (!isFailure(place)) place.release();
    }
  }

  async #cancelled({ callId }: QueuedCall, { controller }: Task): Promise<"done"> {
    const message = `Cancelled before it ran: ${String(controller.signal.reason)}`;
    await endQueued(callId, failure("E3906", { message }), this.#house);
    return "done";
  }

  async #place(
    { tenant, agent, tool, priority }: QueuedCall,
    { controller }: Task,
  ): Promise<Place | Failure> {
    const { admission } = this.#house;
    const who = agentKey({ tenant, agent });
    return await admission.enter({ agent: who, tool, priority, signal: controller.signal, patient: true });
  }

  #begun(task: Task): void {
    if (task.begun) return;
    task.begun = true;
    this.#waiting -= 1;
    this.#count(task.who, -1);
  }

  #count(who: string, by: 1 | -1): void {
    const count = (this.#perAgent.get(who) ?? 0) + by;
    if (count > 0) this.#perAgent.set(who, count);
    else this.#perAgent.delete(who);
  }

  #report(error: unknown, { callId, tool }: QueuedCall): void {
    this.#house.errors.report({ error, code: "E3914", callId, tool, stage: "queue" });
  }
}
