import type { Failure, FileEffects, Warning } from "@sallyport/protocol";
import type { Place } from "../admit/admission.ts";
import type { HeldRun } from "../approve/order.ts";
import { type EventFacts, type EventKind, EventWriter } from "../audit/event.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { HookCall } from "../ports/hooks.ts";
import type { RunUsage } from "../ports/runner.ts";
import type { Clock } from "../ports/time.ts";
import type { TokenClaims } from "../ports/tokens.ts";
import type { ResolvedTool } from "../registry/index.ts";
import type { CallSpan } from "../telemetry/index.ts";
import type { CallRequest } from "./house.ts";
import type { Visit } from "./lifecycle.ts";
import type { Received } from "./received.ts";

const NO_USAGE: RunUsage = { cpuMs: 0, memoryPeakBytes: 0 };

/** What a call that is in the journal already has been waiting for. */
export type Waits = {
  /** What its token said when it was first asked for. */
  verified?: TokenClaims | undefined;
} & (
  | {
      for: "approval";
      approvalId: string;
      /** What it did when it was tried out before the question. */
      held?: HeldRun | undefined;
    }
  | { for: "room" }
);

/** Tells executions apart that could have the same number: a call that waited is tried by whoever asks for it. */
function nameOf({ callId, number, run }: Pick<AttemptOptions, "callId" | "number" | "run">): string {
  if (run !== undefined) return `${callId}.${number}.${run}`;
  return number === 1 ? callId : `${callId}.${number}`;
}

/** A moment to measure durations from; that of a clock on the wall may be set back. */
function ticks(clock: Clock | undefined): number {
  return clock ? (clock.elapsed?.() ?? clock.now()) : 0;
}

interface AttemptOptions {
  request: CallRequest;
  callId: string;
  number: number;
  startedAt: number;
  received: Received;
  controller: AbortController;
  /** Left out where nobody asks how long it took. */
  clock?: Clock | undefined;
  waits?: Waits | undefined;
  place?: Place | undefined;
  span?: CallSpan | undefined;
  /** Part of the execution's id where the number alone does not tell it apart. */
  run?: string | undefined;
}

/** One execution of a call, from its arrival to its end: what it is for, and what is on record about it. */
export class Attempt {
  readonly request: CallRequest;
  readonly callId: string;
  readonly executionId: string;
  readonly number: number;
  readonly startedAt: number;
  readonly received: Received;
  readonly facts: EventFacts;
  readonly warnings: Warning[] = [];
  readonly visits: Visit[] = [];
  /** True once the tool's code may have been reached: only then are its key spent and the world possibly changed. */
  ran = false;
  /** Set once its pre hooks were run: then its post hooks are due. */
  hooked: HookCall | undefined;
  /** Set once the call is resolved. */
  tool: ResolvedTool | undefined;
  usage: RunUsage = NO_USAGE;
  /** What the call changed in its workspace, once that is settled. */
  effects: FileEffects | undefined;
  /** True once the journal holds the intent, so that the end closes it instead of opening it. */
  journaled = false;
  /** Set while the journal holds the call as waiting or queued; the intent to run takes its place. */
  readonly waits: Waits | undefined;
  /** The place among the running calls that it had before it came this far. */
  readonly place: Place | undefined;
  /** What a trace shows of the call; absent where nobody traces. */
  readonly span: CallSpan | undefined;
  /** The approval as it was last read or written by this attempt. */
  approval: ApprovalRecord | undefined;
  /** What a try-out gave: if set, approval commits exactly that and the tool does not run again. */
  held: HeldRun | undefined;
  /** The first breach of the tool's bounds; it decides how the call ends, whatever the tool says. */
  violation: Failure | undefined;
  readonly #controller: AbortController;
  readonly #exits: (() => void)[] = [];
  #events: string[] = [];
  #ordinal = 0;
  #writer: EventWriter | undefined;
  #ahead: EventKind | undefined;
  readonly #clock: Clock | undefined;
  /** When it came, or began to execute. */
  #since: number;

  constructor({ request, callId, number, startedAt, received, controller, ...rest }: AttemptOptions) {
    const { waits, place, span, run, clock } = rest;
    this.#clock = clock;
    this.#since = ticks(clock);
    this.request = request;
    this.received = received;
    this.waits = waits;
    this.place = place;
    this.span = span;
    this.held = waits?.for === "approval" ? waits.held : undefined;
    this.#controller = controller;
    this.callId = callId;
    this.number = number;
    this.executionId = nameOf({ callId, number, run });
    this.startedAt = startedAt;
    this.facts = {
      tenant: request.caller.tenant,
      agent: request.caller.agent,
      userId: request.caller.user,
      callId,
      executionId: this.executionId,
      toolId: request.tool,
      toolVersion: request.version ?? "*",
      operation: request.operation ?? "",
      inputHash: received.inputHash,
    };
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The journal holds the call as waiting or queued, and no intent to run has taken its place. */
  get isStillWaiting(): boolean {
    return this.waits !== undefined && !this.journaled;
  }

  /** From here on it executes: what came before was waiting, and does not count as its duration. */
  executing(): void {
    this.#since = ticks(this.#clock);
  }

  /** How long it has executed; of one that has not, how long ago it came. */
  get tookMs(): number {
    return Math.max(0, Math.round(ticks(this.#clock) - this.#since));
  }

  violate(violation: Failure): void {
    this.violation ??= violation;
    this.#controller.abort(violation.message);
  }

  /** Writes an event with everything known now; it becomes durable with the next unit of work. */
  record(kind: EventKind, timestamp: number): void {
    this.#ordinal += 1;
    this.#writer ??= new EventWriter(this.facts);
    this.#events.push(this.#writer.write(kind, this.facts, { ordinal: this.#ordinal, timestamp }));
  }

  /** The event of a state that is entered only once it is durable; entering it then writes no second one. */
  recordAhead(kind: EventKind, timestamp: number): void {
    this.record(kind, timestamp);
    this.#ahead = kind;
  }

  forgetAhead(): void {
    this.#ahead = undefined;
    this.#ordinal -= 1;
  }

  recordVisit(visit: Visit): void {
    this.visits.push(visit);
    if (visit.state !== this.#ahead) this.record(visit.state, visit.at);
  }

  /** Hands over the events that no unit of work holds yet. */
  takeEvents(): string[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Puts events back that a failed unit of work did not keep, before those written since. */
  returnEvents(events: string[]): void {
    this.#events = [...events, ...this.#events];
  }

  /** Takes over what an earlier attempt of the same call has not put on record yet. */
  follow(previous: Attempt): void {
    this.journaled = previous.journaled;
    this.#events = previous.takeEvents();
  }

  /** Registers something to be given back when the attempt is over, whatever happens. */
  onExit(release: () => void): void {
    this.#exits.push(release);
  }

  leave(): void {
    for (const release of this.#exits.splice(0).reverse()) release();
  }
}
