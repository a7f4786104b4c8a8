import { randomUUID } from "node:crypto";
import { type CallAnswer, defined, PRIORITIES } from "@sallyport/protocol";
import type {
  CallClosing,
  CallFilter,
  CallIntent,
  CallReader,
  CallRecord,
  CallTimeline,
  ClosedWith,
  ListPlace,
  QueuedCall,
  QueueReader,
} from "../ports/calls.ts";
import type { ClaimOrder } from "../ports/fleet.ts";
import { byCodePoint } from "../ports/state.ts";
import type { AuditLink, Conflict, Fence, UnitOfWork } from "../ports/store.ts";

/** The answer and the timeline are kept as text, so that nobody who holds the object can change the record. */
type KeptClosing = Omit<ClosedWith, "answer" | "timeline"> & { answerText: string; timelineText?: string };
type KeptRecord = Omit<CallRecord, "closing"> & { closing?: KeptClosing | undefined };

interface KeptCall {
  record: KeptRecord;
  /** The last link; undefined while the call has no event. */
  link: AuditLink | undefined;
  /** Where the call stands in the order calls entered; never given twice. */
  position: number;
}

/** Who claims work, how much, and what the store knows at that moment. */
export interface Claimer extends Pick<Required<ClaimOrder>, "instance" | "limit" | "holdMs" | "except"> {
  now: number;
  isLive(instance: string): boolean;
}

/** A call's place in the queue, and the instance that holds it. */
interface KeptPlace {
  place: QueuedCall;
  order: string;
  claimedBy: string | undefined;
}

/**
 * The journal and the queue. A call enters as `waiting`, `queued`, `executing` or `closed`; `waiting` and `queued` may
 * become `executing` or `closed`, `executing` may become `unknown` or `closed`, `unknown` may become `closed` by a closing
 * that is from it, and `closed` is final. A call that begins or ends gives up its place in the queue.
 */
export class MemoryCalls {
  readonly #calls = new Map<string, KeptCall>();
  readonly #byKey = new Map<string, string>();
  readonly #closed = new Set<string>();
  readonly #queued = new Map<string, KeptPlace>();
  /** Calls that somebody asked to cancel while they executed, and until when each is held by whoever was told. */
  readonly #cancelled = new Map<string, number>();
  readonly #maxClosed: number;
  readonly #onForget: (callId: string) => void;
  #last = 0;

  readonly reader: CallReader = {
    get: async (callId) => this.#get(callId),
    byIdempotencyKey: async ({ key, ...of }) => this.#withKey({ ...of, idempotencyKey: key }),
    list: async ({ before, limit, ...filter }) =>
      newestFirst([...this.#calls.values()].filter(matches(filter)), placeOf, before)
        .slice(0, limit)
        .map(recordOf),
  };

  readonly queue: QueueReader = {
    order: async (callId) => this.#queued.get(callId)?.order,
    size: async () => this.#queued.size,
  };

  /** Beyond about this many closed calls the oldest are forgotten. */
  constructor(maxClosed: number, onForget: (callId: string) => void) {
    this.#maxClosed = maxClosed;
    this.#onForget = onForget;
  }

  conflict(unit: UnitOfWork): Conflict | undefined {
    const { fence, open, begin, rerun, close, cancel } = unit;
    return (
      (fence && this.#fenceConflict(fence)) ??
      (open && this.#openConflict(open)) ??
      (begin && this.#beginConflict(begin)) ??
      (rerun && this.#executingConflict(rerun)) ??
      (close && this.#closeConflict(close)) ??
      (cancel && this.#executingConflict(cancel))
    );
  }

  /** Throws, with nothing written, when an answer is not JSON. */
  write(unit: UnitOfWork, link: AuditLink | undefined): void {
    const { open, enqueue, begin, rerun, close, cancel } = unit;
    if (open) this.#put({ ...open, closing: keptClosing(open.closing) }, link);
    if (enqueue) {
      const { order, claimedBy, ...place } = enqueue;
      this.#queued.set(place.callId, { place, order, claimedBy });
    }
    const waited = begin && this.#calls.get(begin.callId)?.record;
    // Whoever has the whole record may hand it over: its phase and its closing are not part of an intent.
    if (waited)
      this.#put(
        { ...keptOf(waited), ...begin, startedAt: waited.startedAt, phase: "executing", closing: undefined },
        link,
      );
    if (rerun) this.#amend(rerun.callId, { runId: rerun.runId, attempt: rerun.attempt }, link);
    if (cancel) this.#cancel(cancel, link);
    const ended = close && this.#calls.get(close.callId)?.record;
    if (!ended) return;
    const closing = keptClosing(close.closing) ?? ended.closing;
    this.#put({ ...ended, phase: close.phase, closing }, link);
  }

  /** Queued calls that no live instance holds. */
  claimQueued({ instance, limit, isLive }: Claimer): QueuedCall[] {
    const free = [...this.#queued.values()].filter(({ claimedBy }) => !claimedBy || !isLive(claimedBy));
    const claimed = free.sort((one, other) => byUrgency(one.place, other.place)).slice(0, limit);
    for (const kept of claimed) kept.claimedBy = instance;
    return claimed.map(({ place }) => ({ ...place }));
  }

  releaseQueued(instance: string, callIds: readonly string[]): void {
    for (const callId of callIds) {
      const kept = this.#queued.get(callId);
      if (kept?.claimedBy === instance) kept.claimedBy = undefined;
    }
  }

  /** Executing calls whose owner is gone; they are the claimer's from now on. */
  claimOrphans({ instance, limit, isLive }: Claimer): CallRecord[] {
    const left = [...this.#calls.values()]
      .filter(({ record }) => record.phase === "executing" && !isLive(record.owner))
      .slice(0, limit);
    return left.map(({ record }) =>
      this.#amend(record.callId, { owner: instance, runId: randomUUID() }, undefined),
    );
  }

  /** What the instance executes and has claimed, by the record. */
  held(instance: string): { executing: CallRecord[]; queued: QueuedCall[] } {
    const executing = [...this.#calls.values()].filter(
      ({ record: { phase, owner } }) => phase === "executing" && owner === instance,
    );
    const queued = [...this.#queued.values()].filter(({ claimedBy }) => claimedBy === instance);
    return { executing: executing.map(recordOf), queued: queued.map(({ place }) => ({ ...place })) };
  }

  /** Calls that the claimer executes and somebody asked to cancel. */
  claimCancels({ instance, limit, now, holdMs }: Claimer): CallRecord[] {
    const claimed: CallRecord[] = [];
    for (const [callId, heldUntil] of this.#cancelled) {
      const record = this.#get(callId);
      if (record?.phase !== "executing") this.#cancelled.delete(callId);
      else if (record.owner === instance && heldUntil <= now && claimed.length < limit) {
        this.#cancelled.set(callId, now + holdMs);
        claimed.push(record);
      }
    }
    return claimed;
  }

  #get(callId: string | undefined): CallRecord | undefined {
    const call = this.#calls.get(callId ?? "");
    return call && recordOf(call);
  }

  #withKey(key: IdempotencyKey): CallRecord | undefined {
    return key.idempotencyKey === undefined ? undefined : this.#get(this.#byKey.get(nameOf(key)));
  }

  #openConflict(record: CallRecord): Conflict | undefined {
    if (this.#calls.has(record.callId)) return { kind: "duplicate_call" };
    const existing = this.#withKey(record);
    return existing && { kind: "idempotency", existing };
  }

  #beginConflict(intent: CallIntent): Conflict | undefined {
    const call = this.#calls.get(intent.callId)?.record;
    const mayBegin = call?.phase === "waiting" || call?.phase === "queued";
    if (!mayBegin || call.tenant !== intent.tenant) return { kind: "not_waiting" };
    const existing = this.#withKey({ ...keptOf(call), ...intent });
    return existing && existing.callId !== intent.callId ? { kind: "idempotency", existing } : undefined;
  }

  #closeConflict({ callId, phase: next, from }: CallClosing): Conflict | undefined {
    const phase = this.#calls.get(callId)?.record.phase;
    const isJudged = phase === "unknown" && from !== "unknown";
    const isOpen = phase !== undefined && phase !== "closed" && !isJudged;
    const mayBecome = next === "closed" ? isOpen : phase === "executing";
    return mayBecome && (from === undefined || from === phase) ? undefined : { kind: "not_open" };
  }

  #fenceConflict({ callId, runId }: Fence): Conflict | undefined {
    const call = this.#calls.get(callId)?.record;
    return call?.phase === "executing" && call.runId === runId ? undefined : { kind: "fenced" };
  }

  #executingConflict({ callId }: { callId: string }): Conflict | undefined {
    return this.#calls.get(callId)?.record.phase === "executing" ? undefined : { kind: "not_open" };
  }

  #cancel({ callId, reason }: { callId: string; reason: string }, link: AuditLink | undefined): void {
    if (this.#calls.get(callId)?.record.cancelReason !== undefined) return;
    this.#amend(callId, { cancelReason: reason }, link);
    this.#cancelled.set(callId, 0);
  }

  /** Changes a call that is known to be there. */
  #amend(callId: string, change: Partial<KeptRecord>, link: AuditLink | undefined): CallRecord {
    const call = this.#calls.get(callId);
    if (!call) throw new Error(`there is no call ${callId}`);
    call.record = { ...call.record, ...change };
    call.link = link ?? call.link;
    return recordOf(call);
  }

  /** A call that is there already keeps its place and, without a new link, its last one. */
  #put(record: KeptRecord, link: AuditLink | undefined): void {
    const { callId } = record;
    const before = this.#calls.get(callId);
    if (before) this.#byKey.delete(nameOf(before.record));
    else this.#last += 1;
    this.#calls.set(callId, { record, link: link ?? before?.link, position: before?.position ?? this.#last });
    if (record.idempotencyKey !== undefined) this.#byKey.set(nameOf(record), callId);
    this.#queued.delete(callId);
    if (record.phase === "closed") this.#remember(callId);
  }

  /** Forgets the calls that closed first, a tenth of the bound at a time so that each closing stays cheap. */
  #remember(callId: string): void {
    this.#closed.add(callId);
    if (this.#closed.size <= this.#maxClosed * 1.1) return;
    for (const oldest of this.#closed) {
      if (this.#closed.size <= this.#maxClosed) return;
      this.#forget(oldest);
    }
  }

  #forget(callId: string): void {
    const call = this.#calls.get(callId);
    this.#closed.delete(callId);
    this.#calls.delete(callId);
    if (call) this.#byKey.delete(nameOf(call.record));
    this.#onForget(callId);
  }
}

/** High before normal before low; then who came first. */
function byUrgency(one: QueuedCall, other: QueuedCall): number {
  const urgency = PRIORITIES.indexOf(other.priority) - PRIORITIES.indexOf(one.priority);
  return urgency || one.queuedAt - other.queuedAt || (one.callId < other.callId ? -1 : 1);
}

/** The newest first; with `before` those behind it. */
export function newestFirst<Kept>(
  kept: readonly Kept[],
  placeOf: (one: Kept) => ListPlace,
  before: ListPlace | undefined,
): Kept[] {
  return kept
    .map((one) => ({ one, place: placeOf(one) }))
    .filter(({ place }) => !before || byPlace(place, before) < 0)
    .sort((first, second) => byPlace(second.place, first.place))
    .map(({ one }) => one);
}

function byPlace(first: ListPlace, second: ListPlace): number {
  return first.at - second.at || byCodePoint(first.id, second.id);
}

const placeOf = ({ record: { startedAt, callId } }: KeptCall): ListPlace => ({ at: startedAt, id: callId });

type IdempotencyKey = Pick<CallIntent, "tenant" | "agent" | "idempotencyKey">;

function nameOf({ tenant, agent, idempotencyKey }: IdempotencyKey): string {
  return idempotencyKey === undefined ? "" : JSON.stringify([tenant, agent, idempotencyKey]);
}

function matches(filter: Omit<CallFilter, "before" | "limit">): (call: KeptCall) => boolean {
  return ({ record: { tenant, agent, tool, phase, closing } }) => {
    const { status } = closing ?? {};
    return Object.entries({ tenant, agent, tool, phase, status }).every(([name, value]) => {
      const wanted: unknown = Reflect.get(filter, name);
      return wanted === undefined || wanted === value;
    });
  };
}

/** What a call keeps when it begins, unless its intent brings another: its key, its digest and its callback. */
function keptOf({ idempotencyKey, requestDigest, callbackUrl }: KeptRecord): Partial<CallIntent> {
  return defined({ idempotencyKey, requestDigest, callbackUrl });
}

/** Throws when the answer is not JSON. */
function keptClosing(closed: ClosedWith | undefined): KeptClosing | undefined {
  if (!closed) return undefined;
  const { answer, timeline, ...rest } = closed;
  const kept = { ...rest, answerText: JSON.stringify(answer) };
  return timeline ? { ...kept, timelineText: JSON.stringify(timeline) } : kept;
}

/** The receipt is not kept with the answer: it is made of the call's last link on every read. */
function recordOf({ record: { closing, ...record }, link }: KeptCall): CallRecord {
  if (!closing) return record;
  const { answerText, timelineText, ...rest } = closing;
  const answer: CallAnswer = JSON.parse(answerText);
  if (link) {
    const effectsHash = answer.dryRun ? undefined : answer.effects?.digest;
    answer.receipt = {
      tenant: record.tenant,
      ...link,
      inputHash: record.inputHash,
      ...(rest.outputHash !== undefined && { outputHash: rest.outputHash }),
      ...(effectsHash !== undefined && { effectsHash }),
    };
  }
  const timeline: CallTimeline | undefined =
    timelineText === undefined ? undefined : JSON.parse(timelineText);
  return { ...record, closing: { ...rest, answer, ...defined({ timeline }) } };
}
