import type { CallAnswer } from "@sallyport/protocol";
import type {
  CallClosing,
  CallFilter,
  CallIntent,
  CallPhase,
  CallReader,
  CallRecord,
  ClosedWith,
  QueuedCall,
  QueueReader,
} from "../ports/calls.ts";
import type { AuditLink, Conflict, UnitOfWork } from "../ports/store.ts";

/** The answer is kept as text, so that nobody who holds the object can change the record. */
type KeptClosing = Omit<ClosedWith, "answer"> & { answerText: string };

interface KeptCall {
  intent: CallIntent;
  phase: CallPhase;
  closing?: KeptClosing | undefined;
  /** The last link; undefined while the call has no event. */
  link: AuditLink | undefined;
  /** Where the call stands in the order calls entered; never given twice. */
  position: number;
}

interface CallsOptions {
  /** Beyond about this many closed calls the oldest are forgotten. */
  maxClosed: number;
  onForget(callId: string): void;
}

/**
 * The journal and the queue. A call enters as `waiting`, `queued`, `executing` or `closed`; `waiting` and `queued` may
 * become `executing` or `closed`, `executing` may become `unknown` or `closed`, `unknown` may become `closed` by a closing
 * that is from it, and `closed` is final. A call that begins or ends gives up its place in the queue.
 */
export class MemoryCalls implements CallReader {
  readonly #calls = new Map<string, KeptCall>();
  readonly #byKey = new Map<string, string>();
  readonly #closed = new Set<string>();
  readonly #queued = new Map<string, { call: QueuedCall; order: string }>();
  readonly #options: CallsOptions;
  #last = 0;

  /** In the order of the journal: a call keeps its place there when it leaves the queue, so paging goes on behind it. */
  readonly queue: QueueReader = {
    list: async ({ after, limit }) => {
      const behind = after === undefined ? 0 : this.#calls.get(after)?.position;
      if (behind === undefined) return [];
      const later = [...this.#queued.values()].filter(
        ({ call }) => (this.#calls.get(call.callId)?.position ?? 0) > behind,
      );
      return later.slice(0, Math.max(0, limit)).map(({ call }) => ({ ...call }));
    },
    order: async (callId) => this.#queued.get(callId)?.order,
  };

  constructor(options: CallsOptions) {
    this.#options = options;
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
    if (open) this.#open(open, link);
    if (enqueue) this.#enqueue(enqueue);
    if (begin) this.#begin(begin, link);
    if (close) this.#close(close, link);
  }

  async get(callId: string): Promise<CallRecord | undefined> {
    return this.#get(callId);
  }

  async byIdempotencyKey({ tenant, agent, key }: Parameters<CallReader["byIdempotencyKey"]>[0]) {
    return this.#withKey({ tenant, agent, idempotencyKey: key });
  }

  /** Newest first in the order calls entered the journal; nothing when `before` is not in it. */
  async list({ before, limit, ...filter }: CallFilter): Promise<CallRecord[]> {
    const newestFirst = [...this.#calls.values()].reverse();
    const from = newestFirst.findIndex(({ intent }) => intent.callId === before) + 1;
    if (before !== undefined && from === 0) return [];
    return newestFirst.slice(from).filter(matches(filter)).slice(0, limit).map(recordOf);
  }

  #get(callId: string): CallRecord | undefined {
    const call = this.#calls.get(callId);
    return call && recordOf(call);
  }

  #withKey(key: IdempotencyKey): CallRecord | undefined {
    const callId = this.#byKey.get(nameOf(key));
    return callId === undefined ? undefined : this.#get(callId);
  }

  #openConflict(record: CallRecord): Conflict | undefined {
    if (this.#calls.has(record.callId)) return { kind: "duplicate_call" };
    const existing = record.idempotencyKey === undefined ? undefined : this.#withKey(record);
    return existing && { kind: "idempotency", existing };
  }

  #beginConflict(intent: CallIntent): Conflict | undefined {
    const call = this.#calls.get(intent.callId);
    const mayBegin = call?.phase === "waiting" || call?.phase === "queued";
    if (!mayBegin || call.intent.tenant !== intent.tenant) return { kind: "not_waiting" };
    const { tenant, agent, idempotencyKey = call.intent.idempotencyKey } = intent;
    const holder =
      idempotencyKey === undefined ? undefined : this.#withKey({ tenant, agent, idempotencyKey });
    if (holder === undefined || holder.callId === intent.callId) return undefined;
    return { kind: "idempotency", existing: holder };
  }

  #closeConflict({ callId, phase: next, from }: CallClosing): Conflict | undefined {
    const phase = this.#calls.get(callId)?.phase;
    const isJudged = phase === "unknown" && from !== "unknown";
    const isOpen = phase !== undefined && phase !== "closed" && !isJudged;
    const mayBecome = next === "closed" ? isOpen : phase === "executing";
    return mayBecome && (from === undefined || from === phase) ? undefined : { kind: "not_open" };
  }

  #open({ phase, closing, ...intent }: CallRecord, link: AuditLink | undefined): void {
    const kept = closing && keptClosing(closing);
    this.#last += 1;
    this.#put({ intent, phase, closing: kept, link, position: this.#last });
    if (phase === "closed") this.#remember(intent.callId);
  }

  #enqueue({ order, ...call }: QueuedCall & { order: string }): void {
    this.#queued.set(call.callId, { call, order });
  }

  /** What the intent says replaces what was kept, but for the call's place and what `keepingOf` names. */
  #begin(begun: CallIntent, link: AuditLink | undefined): void {
    const before = this.#calls.get(begun.callId);
    if (before === undefined) return;
    // Whoever has the whole record may hand it over: its phase and its closing are not part of an intent.
    const { phase, closing: _, ...intent }: CallRecord = { ...begun, phase: "executing" };
    this.#byKey.delete(nameOf(before.intent));
    const { position } = before;
    this.#put({ intent: keepingOf(before.intent, intent), phase, link: link ?? before.link, position });
    this.#queued.delete(begun.callId);
  }

  #close({ callId, phase, closing }: CallClosing, link: AuditLink | undefined): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    call.closing = closing ? keptClosing(closing) : call.closing;
    call.phase = phase;
    call.link = link ?? call.link;
    this.#queued.delete(callId);
    if (phase === "closed") this.#remember(callId);
  }

  #put(call: KeptCall): void {
    const { callId, idempotencyKey } = call.intent;
    this.#calls.set(callId, call);
    if (idempotencyKey !== undefined) this.#byKey.set(nameOf(call.intent), callId);
  }

  /** Forgets the calls that closed first, a tenth of the bound at a time so that each closing stays cheap. */
  #remember(callId: string): void {
    this.#closed.add(callId);
    const { maxClosed } = this.#options;
    if (this.#closed.size <= maxClosed * 1.1) return;
    for (const oldest of this.#closed) {
      if (this.#closed.size <= maxClosed) return;
      this.#forget(oldest);
    }
  }

  #forget(callId: string): void {
    const call = this.#calls.get(callId);
    this.#closed.delete(callId);
    this.#calls.delete(callId);
    if (call) this.#byKey.delete(nameOf(call.intent));
    this.#options.onForget(callId);
  }
}

type IdempotencyKey = Pick<CallIntent, "tenant" | "agent" | "idempotencyKey">;

function nameOf({ tenant, agent, idempotencyKey }: IdempotencyKey): string {
  return idempotencyKey === undefined ? "" : JSON.stringify([tenant, agent, idempotencyKey]);
}

/** Throws unless a call is opened as queued and given its place by the same unit: one without the other is a mistake. */
function requireQueuedTogether({ open, enqueue }: UnitOfWork): void {
  const queued = open?.phase === "queued" ? open.callId : undefined;
  if (queued === enqueue?.callId) return;
  if (enqueue === undefined) {
    throw new RangeError(`The unit opens the call ${queued} as queued and gives it no place in the queue.`);
  }
  throw new RangeError(`The unit queues the call ${enqueue.callId} and does not open it as queued.`);
}

function matches(filter: Omit<CallFilter, "before" | "limit">): (call: KeptCall) => boolean {
  return ({ intent, phase, closing }) =>
    (filter.tenant === undefined || intent.tenant === filter.tenant) &&
    (filter.agent === undefined || intent.agent === filter.agent) &&
    (filter.tool === undefined || intent.tool === filter.tool) &&
    (filter.phase === undefined || phase === filter.phase) &&
    (filter.status === undefined || closing?.status === filter.status);
}

/** The intent, with the key, the digest and the callback of the call it begins where it does not bring its own. */
function keepingOf(before: CallIntent, intent: CallIntent): CallIntent {
  const { idempotencyKey, requestDigest, callbackUrl } = before;
  return {
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(requestDigest !== undefined && { requestDigest }),
    ...(callbackUrl !== undefined && { callbackUrl }),
    ...intent,
  };
}

/** Throws when the answer is not JSON. */
function keptClosing({ answer, ...rest }: ClosedWith): KeptClosing {
  return { ...rest, answerText: JSON.stringify(answer) };
}

function recordOf({ intent, phase, closing, link }: KeptCall): CallRecord {
  if (!closing) return { ...intent, phase };
  const { answerText, ...rest } = closing;
  const answer: CallAnswer = JSON.parse(answerText);
  if (link) answer.receipt = receiptOf(answer, { intent, closing, link });
  return { ...intent, phase, closing: { ...rest, answer } };
}

/** The receipt is not kept with the answer: it is made of the call's last link on every read. */
function receiptOf(
  { effects, dryRun }: CallAnswer,
  { intent, closing, link }: { intent: CallIntent; closing: KeptClosing; link: AuditLink },
): CallAnswer["receipt"] & object {
  const { tenant, inputHash } = intent;
  const { outputHash } = closing;
  return {
    tenant,
    ...link,
    inputHash,
    ...(outputHash !== undefined && { outputHash }),
    ...(effects && !dryRun && { effectsHash: effects.digest }),
  };
}
