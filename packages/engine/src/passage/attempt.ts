import { hash } from "node:crypto";
import { canonicalJson, type Failure } from "@sallyport/protocol";
import type { Slot } from "../admit/admission.ts";
import type { EventKind } from "../audit/index.ts";
import type { CallRequest, EngineContext } from "../context.ts";
import type { EffectTransaction } from "../effects/effect-transaction.ts";
import { NO_USAGE } from "../execute/index.ts";
import { EventLog, type PreviewedRun, type Progress } from "../journal/progress.ts";
import { TimelineLog } from "../journal/timeline.ts";
import type { TokenClaims } from "../ports/authority.ts";
import type { CallIdentity } from "../ports/calls.ts";
import type { Clock } from "../ports/platform.ts";
import type { HookCall } from "../ports/runner.ts";
import type { Fence } from "../ports/store.ts";
import { redact } from "../redact/redact.ts";
import type { ResolvedTool } from "../registry/index.ts";
import type { CallSpan } from "../telemetry/index.ts";
import { type JsonLimits, type ReadResult, readJson } from "../validate/index.ts";
import type { Visit } from "./lifecycle.ts";

/** What the caller sent: read as JSON once, fixed by digest before anything is decided about it. */
export interface Received {
  read: ReadResult;
  inputHash: string;
  /** The input as it may be kept. */
  text: string;
}

/** Stands for an input that could not be read at all. */
const NO_INPUT_HASH = hash("sha256", "");

export function receive(input: unknown, limits: JsonLimits): Received {
  const read = readJson(input, limits);
  if (!read.ok) return { read, inputHash: NO_INPUT_HASH, text: "null" };
  const canonical = canonicalJson(read.value);
  const kept = redact(read.value);
  const text = kept === read.value ? canonical : JSON.stringify(kept);
  return { read, inputHash: hash("sha256", canonical), text };
}

/** What a call that is in the journal already has been waiting for. */
export type Suspension = {
  /** What its token said when it was first asked for. */
  verified?: TokenClaims | undefined;
} & (
  | {
      for: "approval";
      approvalId: string;
      /** What it did when it was tried out before the question. */
      held?: PreviewedRun | undefined;
    }
  | { for: "room" }
);

/** A call under way: the same through all its attempts. */
export interface Call {
  request: CallRequest;
  callId: string;
  received: Received;
  controller: AbortController;
  startedAt: number;
  /** Set when the journal holds it as waiting or queued. */
  waits?: Suspension | undefined;
  /** The slot it has already, for its first attempt. */
  slot?: Slot | undefined;
  /** What a trace shows of it; absent where nobody traces. */
  span?: CallSpan | undefined;
  /** Executions made before this process, or before a person was asked. */
  attemptsBefore?: number;
  /** Tells this time of going on from others. */
  run?: string;
}

/** Whose chain an execution's events go to, and whether its user is more than the agent's word. */
export interface KnownCaller {
  chain: string;
  userVerified: boolean;
  /** The user whom a token names, where the request names none. */
  user?: string | undefined;
}

interface AttemptOptions {
  number?: number;
  /** Left out where nobody asks how long it took. */
  clock?: Clock;
  /** What is known of who calls; left out: the caller is believed. */
  known?: KnownCaller;
  /** The attempt before this one: what it has not put on record goes on here, and it has given its slot back. */
  previous?: Attempt | undefined;
  /** Of a request that is not performed: keeps it apart from the executions of the call whose id it names. */
  refused?: string;
}

/**
 * One execution of a call while it is under way: what it was asked for, how it is ended from outside, and what the
 * engine must not forget when a stage throws. What is known of it is its `progress`, which the passage alone moves on.
 */
export class Attempt {
  readonly request: CallRequest;
  readonly received: Received;
  /** Set while the journal holds the call as waiting or queued; the intent to run takes its place. */
  readonly waits: Suspension | undefined;
  /** The slot that it had before it came this far. */
  readonly slot: Slot | undefined;
  /** What a trace shows of the call; absent where nobody traces. */
  readonly span: CallSpan | undefined;
  /** Every state entered, in order. */
  readonly visits: Visit[] = [];
  readonly log: EventLog;
  readonly timeline: TimelineLog;
  /** True once the tool's code may have been reached: only then are its key spent and the world possibly changed. */
  ran = false;
  /** True from when the attempt's end is decided and an abort is no longer looked at: who cancels then is too late. */
  settled = false;
  /** Set once its pre hooks were run: then its post hooks are due. */
  hooked: HookCall | undefined;
  /** What the execution changes, from when it began to execute. */
  transaction: EffectTransaction | undefined;
  /** True once the outcome was sent to the store: from then on only the journal knows how the call ended. */
  outcomeSent = false;
  /** The run as which the journal holds the call; absent until it holds the intent. Every later write carries it. */
  fence: Fence | undefined;
  /** Runs that did not begin, because their intent had no answer: the journal may hold the call as one of them. */
  readonly unanswered: Fence[];
  /** Stored grants whose use the journal has counted for this call. */
  readonly used: Set<string>;
  /** The first breach of the tool's bounds; it decides how the call ends, whatever the tool says. */
  violation: Failure | undefined;
  #progress: Progress;
  readonly #startedBefore: boolean;
  readonly #controller: AbortController;
  readonly #exits: (() => void)[] = [];
  readonly #clock: Clock | undefined;
  /** When it came, or began to execute. */
  #since: number;

  constructor(call: Call, { number = 1, clock, known, previous, refused }: AttemptOptions = {}) {
    const { callId, received, startedAt, waits } = call;
    const request = requestOf(call.request, known?.user, previous);
    this.#clock = clock;
    this.#since = ticks(clock);
    this.#controller = call.controller;
    this.#startedBefore = previous?.hasStarted ?? false;
    this.request = request;
    this.received = received;
    this.waits = waits;
    this.slot = previous ? undefined : call.slot;
    this.span = call.span;
    this.log = new EventLog(previous?.log);
    this.timeline = new TimelineLog(() => ticks(clock), { previous: previous?.timeline, attempt: number });
    this.fence = previous?.fence;
    this.unanswered = [...(previous?.unanswered ?? [])];
    this.used = new Set(previous?.used);
    this.#progress = {
      call: identityOf(callId, request),
      chain: known && known.chain !== request.caller.tenant ? known.chain : undefined,
      userVerified: known?.userVerified,
      executionId: executionIdOf({ callId, number, refused }),
      run: call.run,
      inputHash: received.inputHash,
      number,
      startedAt,
      usage: NO_USAGE,
      warnings: [],
      dryRun: request.dryRun,
      held: waits?.for === "approval" ? waits.held : undefined,
    };
  }

  /** As far as the call has come. */
  get progress(): Progress {
    return this.#progress;
  }

  /** For the passage, after each stage. */
  reached({ progress }: { progress: Progress }, stage: string): void {
    if (progress.decision && progress.decision !== this.#progress.decision)
      this.timeline.decided(progress.decision, progress.number);
    this.timeline.reached(stage, progress.number);
    this.#progress = progress;
  }

  /** For the lifecycle, with each state. */
  enter(visit: Visit, progress: Progress): void {
    this.#progress = progress;
    this.visits.push(visit);
    this.log.add(visit.state, visit.at, progress);
  }

  /** Something happened that is no state; it becomes durable with the next unit of work. */
  record(kind: EventKind, at: number, progress: Progress = this.#progress): void {
    this.log.add(kind, at, progress);
  }

  /** Which call it is; its version and operation are certain once it is resolved. */
  get call(): CallIdentity {
    return this.#progress.call;
  }

  get callId(): string {
    return this.#progress.call.callId;
  }

  get tool(): ResolvedTool | undefined {
    return this.#progress.tool;
  }

  /** The tenant whose chain its events go to. */
  get chain(): string {
    return this.#progress.chain ?? this.call.tenant;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The journal holds the intent, so that the end closes the call instead of opening it. */
  get journaled(): boolean {
    return this.fence !== undefined;
  }

  /** The runs as which the journal may hold the call; none until it holds the intent. */
  get runs(): readonly Fence[] {
    return this.fence ? [this.fence, ...this.unanswered] : [];
  }

  /** The journal holds the call as waiting or queued, and no intent to run has taken its place. */
  get isStillWaiting(): boolean {
    return this.waits !== undefined && !this.journaled;
  }

  /** Whether this attempt or an earlier one of the call has reached the tool's code. */
  get hasStarted(): boolean {
    return this.ran || this.#startedBefore;
  }

  /** From here on it executes: what came before was waiting, and does not count as its duration. */
  executing(): void {
    this.#since = ticks(this.#clock);
  }

  /** How long it has executed; of one that has not, how long ago it came. */
  get tookMs(): number {
    return Math.max(0, Math.round(ticks(this.#clock) - this.#since));
  }

  /** What its answer says about its way, when it ends now. */
  endedAt(completedAt: number) {
    return { visits: [...this.visits], completedAt, tookMs: this.tookMs };
  }

  violate(violation: Failure): void {
    this.violation ??= violation;
    this.#controller.abort(violation.message);
  }

  /** Registers something to be given back when the attempt is over, whatever happens. */
  onExit(release: () => void): void {
    this.#exits.push(release);
  }

  leave(): void {
    for (let release = this.#exits.pop(); release; release = this.#exits.pop()) release();
  }
}

/** What was resolved once stays: an attempt after another is of the same version and operation. */
function requestOf(
  request: CallRequest,
  user: string | undefined,
  previous: Attempt | undefined,
): CallRequest {
  const named = user === undefined ? request : { ...request, caller: { ...request.caller, user } };
  if (!previous) return named;
  const { version, operation } = previous.call;
  return { ...named, version, operation };
}

/** As far as it is known before the tool is resolved. */
export function identityOf(callId: string, { caller, tool, version, operation }: CallRequest): CallIdentity {
  const { tenant, agent, user, session } = caller;
  return {
    callId,
    tenant,
    agent,
    ...(user !== undefined && { user }),
    ...(session !== undefined && { session }),
    tool,
    version: version ?? "*",
    operation: operation ?? "",
  };
}

function executionIdOf({
  callId,
  number,
  refused,
}: {
  callId: string;
  number: number;
  refused: string | undefined;
}): string {
  if (refused !== undefined) return `${callId}.1.${refused}`;
  return number === 1 ? callId : `${callId}.${number}`;
}

/** A moment to measure durations from; that of a clock on the wall may be set back. */
function ticks(clock: Clock | undefined): number {
  return clock ? (clock.elapsed?.() ?? clock.now()) : 0;
}

const SUFFIX_CHARS = 12;

/** A suffix that is unique within this engine. */
export function uniqueSuffix({ ids }: Pick<EngineContext, "ids">): string {
  return ids.next().replaceAll("-", "").slice(-SUFFIX_CHARS);
}
