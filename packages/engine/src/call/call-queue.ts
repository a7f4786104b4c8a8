import { setTimeout as sleep } from "node:timers/promises";
import { type CallAnswer, type Failure, isFailure } from "@sallyport/protocol";
import type { Place } from "../admit/admission.ts";
import { decodeOrder } from "../approve/order.ts";
import { isUnspent, standingAt } from "../approve/settle.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { QueuedCall } from "../ports/queue.ts";
import { endQueued, isStillQueued } from "./end-queued.ts";
import type { House } from "./house.ts";
import type { GoingOn } from "./waiting-call.ts";

const PAGE = 200;
/** Before a call is tried again that could neither be begun nor closed, because the store was away. */
const TRY_AGAIN_MS = [1_000, 2_000, 5_000, 15_000, 60_000];

type Resume = (callId: string, goingOn: GoingOn, house: House) => Promise<CallAnswer | Failure>;

interface Task {
  controller: AbortController;
  begun: boolean;
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

  constructor(house: House, resume: Resume) {
    this.#house = house;
    this.#resume = resume;
  }

  /** Calls that wait for a place. */
  get size(): number {
    return this.#waiting;
  }

  get isFull(): boolean {
    return this.#waiting >= this.#house.limits.queued;
  }

  /** Takes charge of a call that is on record as queued, or as approved. False when somebody has already. */
  push(call: QueuedCall): boolean {
    const { callId } = call;
    if (this.#stop.signal.aborted || this.#tasks.has(callId)) return false;
    const task = { controller: new AbortController(), begun: false };
    this.#tasks.set(callId, task);
    this.#waiting += 1;
    this.#house.feeds.open(callId);
    const run = this.#takeThrough(call, task).finally(() => {
      this.#tasks.delete(callId);
      this.#runs.delete(run);
    });
    this.#runs.add(run);
    return true;
  }

  /** Takes up what is on record and can go on: left by an earlier process, or approved meanwhile. Says how many. */
  async takeUp(): Promise<number> {
    let taken = await this.takeUpQueued();
    for (const record of await this.#house.store.approvals.list({
      states: ["approved", "edited"],
      limit: 1_000,
    })) {
      if (await this.approved(record)) taken += 1;
    }
    return taken;
  }

  /** Only what is queued: also what this process could not begin while the store was away. */
  async takeUpQueued(): Promise<number> {
    const { store } = this.#house;
    let taken = 0;
    for (let after: string | undefined; ; ) {
      const page = await store.queue.list({ limit: PAGE, ...(after !== undefined && { after }) });
      taken += page.filter((call) => this.push(call)).length;
      after = page.at(-1)?.callId;
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

  /** Asks a call to stop, whether it waits for its place or runs; false when the queue does not have it. */
  cancel(callId: string, reason: string): boolean {
    const task = this.#tasks.get(callId);
    task?.controller.abort(reason);
    return task !== undefined;
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
    try {
      for (const pause of TRY_AGAIN_MS) {
        if (await this.#go(call, task)) return;
        await sleep(pause, undefined, { signal: this.#stop.signal });
      }
      await endQueued(call.callId, "It could not be begun; see the log.", this.#house);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#report(error, call);
    } finally {
      this.#begun(task);
    }
  }

  /** Waits for a place and goes on. False when the call is on record as before and has to be tried again. */
  async #go(call: QueuedCall, task: Task): Promise<boolean> {
    const place = await this.#place(call, task);
    if (isFailure(place)) {
      if (!this.#stop.signal.aborted)
        await endQueued(call.callId, String(task.controller.signal.reason), this.#house);
      return true;
    }
    try {
      if (this.#stop.signal.aborted) return true;
      this.#begun(task);
      const { signal } = task.controller;
      const answer = await this.#resume(call.callId, { place, signal }, this.#house);
      if (!isFailure(answer) && answer.status === "success") return true;
      return this.#stop.signal.aborted || !(await isStillQueued(call.callId, this.#house));
    } catch (error) {
      this.#report(error, call);
      return false;
    } finally {
      place.release();
    }
  }

  async #place(
    { tenant, agent, tool, priority }: QueuedCall,
    { controller }: Task,
  ): Promise<Place | Failure> {
    const { admission } = this.#house;
    const who = JSON.stringify([tenant, agent]);
    return await admission.enter({ agent: who, tool, priority, signal: controller.signal, patient: true });
  }

  #begun(task: Task): void {
    if (!task.begun) this.#waiting -= 1;
    task.begun = true;
  }

  #report(error: unknown, { callId, tool }: QueuedCall): void {
    this.#house.errors.report({ error, code: "E3914", callId, tool, stage: "queue" });
  }
}
