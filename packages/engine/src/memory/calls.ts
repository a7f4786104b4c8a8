import { type CallAnswer, defined } from "@sallyport/protocol";
import type {
  CallClosing,
  CallFilter,
  CallIntent,
  CallReader,
  CallRecord,
  ClosedWith,
  QueuedCall,
  QueueReader,
} from "../ports/calls.ts";
import type { AuditLink, Conflict, UnitOfWork } from "../ports/store.ts";

/** The answer is kept as text, so that nobody who holds the object can change the record. */
type KeptClosing = Omit<ClosedWith, "answer"> & { answerText: string };
type KeptRecord = Omit<CallRecord, "closing"> & { closing?: KeptClosing | undefined };

interface KeptCall {
  record: KeptRecord;
  /** The last link; undefined while the call has no event. */
  link: AuditLink | undefined;
  /** Where the call stands in the order calls entered; never given twice. */
  position: number;
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
  readonly #queued = new Map<string, { place: QueuedCall; order: string }>();
  readonly #maxClosed: number;
  readonly #onForget: (callId: string) => void;
  #last = 0;

  readonly reader: CallReader = {
    get: async (callId) => this.#get(callId),
    byIdempotencyKey: async ({ key, ...of }) => this.#withKey({ ...of, idempotencyKey: key }),
    list: async ({ before, limit, ...filter }) =>
      newestFirst(this.#calls, before).filter(matches(filter)).slice(0, limit).map(recordOf),
  };

  /** In the order of the journal: a call keeps its place there when it leaves the queue, so paging goes on behind it. */
  readonly queue: QueueReader = {
    list: async ({ after, limit }) => {
      const behind = after === undefined ? 0 : this.#calls.get(after)?.position;
      if (behind === undefined) return [];
      const later = [...this.#queued].filter(([callId]) => (this.#calls.get(callId)?.position ?? 0) > behind);
      return later.slice(0, Math.max(0, limit)).map(([, { place }]) => ({ ...place }));
    },
    order: async (callId) => this.#queued.get(callId)?.order,
  };

  /** Beyond about this many closed calls the oldest are forgotten. */
  constructor(maxClosed: number, onForget: (callId: string) => void) {
    this.#maxClosed = maxClosed;
    this.#onForget = onForget;
  }

  conflict(unit: UnitOfWork): Conflict | undefined {
    const { open, begin, close } = unit;
    requireQueuedTogether(unit);
    return (
      (open && this.#openConflict(open)) ??
      (begin && this.#beginConflict(begin)) ??
      (close && this.#closeConflict(close))
    );
  }

  /** Throws, with nothing written, when an answer is not JSON. */
  write({ open, enqueue, begin, close }: UnitOfWork, link: AuditLink | undefined): void {
    if (open) this.#put({ ...open, closing: keptClosing(open.closing) }, link);
    if (enqueue) {
      const { order, ...place } = enqueue;
      this.#queued.set(place.callId, { place, order });
    }
    const waited = begin && this.#calls.get(begin.callId)?.record;
    // Whoever has the whole record may hand it over: its phase and its closing are not part of an intent.
    if (waited) this.#put({ ...keptOf(waited), ...begin, phase: "executing", closing: undefined }, link);
    const ended = close && this.#calls.get(close.callId)?.record;
    if (!ended) return;
    const closing = keptClosing(close.closing) ?? ended.closing;
    this.#put({ ...ended, phase: close.phase, closing }, link);
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

/** The values of a map, the newest first; with `before` those older than it, none when nobody knows it. */
export function newestFirst<Kept>(kept: ReadonlyMap<string, Kept>, before: string | undefined): Kept[] {
  const entries = [...kept].reverse();
  const from = entries.findIndex(([id]) => id === before) + 1;
  if (before !== undefined && from === 0) return [];
  return entries.slice(from).map(([, value]) => value);
}

type IdempotencyKey = Pick<CallIntent, "tenant" | "agent" | "idempotencyKey">;

function nameOf({ tenant, agent, idempotencyKey }: IdempotencyKey): string {
  return idempotencyKey === undefined ? "" : JSON.stringify([tenant, agent, idempotencyKey]);
}

/** Throws unless a call is opened as queued and given its place by the same unit: one without the other is a mistake. */
function requireQueuedTogether({ open, enqueue }: UnitOfWork): void {
  const queued = open?.phase === "queued" ? open.callId : undefined;
  if (queued === enqueue?.callId) return;
  if (enqueue === undefined)
    throw new RangeError(`The unit opens the call ${queued} as queued and gives it no place in the queue.`);
  throw new RangeError(`The unit queues the call ${enqueue.callId} and does not open it as queued.`);
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
  const { answer, ...rest } = closed;
  return { ...rest, answerText: JSON.stringify(answer) };
}

/** The receipt is not kept with the answer: it is made of the call's last link on every read. */
function recordOf({ record: { closing, ...record }, link }: KeptCall): CallRecord {
  if (!closing) return record;
  const { answerText, ...rest } = closing;
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
  return { ...record, closing: { ...rest, answer } };
}
