import type { CallAnswer } from "@sallyport/protocol";
import type { AuditLink } from "../../ports/audit-log.ts";
import type {
  CallClosing,
  CallFilter,
  CallIntent,
  CallPhase,
  CallRecord,
  ClosedWith,
} from "../../ports/calls.ts";
import type { Conflict } from "../../ports/store.ts";

/** How an answer is kept: as text, so that nobody who holds the object can change the record. */
type KeptClosing = Omit<ClosedWith, "answer"> & { answerText: string };

/** A call whose answer, if it has one, is text already, so that writing it cannot fail half way. */
export interface PreparedCall {
  intent: CallIntent;
  phase: CallPhase;
  closing?: KeptClosing;
}

/** A call as the journal keeps it; its position is never given twice. */
interface KeptCall extends PreparedCall {
  position: number;
  link?: AuditLink;
}

/** As `PreparedCall`, for the end of a call. */
export type PreparedClosing = Omit<CallClosing, "closing"> & { closing?: KeptClosing };

interface JournalOptions {
  /** Beyond about this many closed calls the oldest are forgotten. */
  maxClosed: number;
  forgotten(callId: string): void;
}

/**
 * The journal in memory. A call enters as `waiting`, `queued`, `executing` or `closed`; `waiting` and `queued` may become
 * `executing` or `closed`, `executing` may become `unknown` or `closed`, `unknown` may become `closed`, and `closed` is
 * final. The checks change nothing; a write must follow its check without anything in between.
 */
export class MemoryJournal {
  readonly #calls = new Map<string, KeptCall>();
  readonly #byKey = new Map<string, string>();
  readonly #closed = new Set<string>();
  readonly #options: JournalOptions;
  #last = 0;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  checkOpen(record: CallRecord): Conflict | undefined {
    if (this.#calls.has(record.callId)) return { kind: "duplicate_call" };
    if (record.idempotencyKey === undefined) return undefined;
    const existing = this.byKey(record.tenant, record.agent, record.idempotencyKey);
    return existing && { kind: "idempotency", existing };
  }

  checkBegin(intent: CallIntent): Conflict | undefined {
    const call = this.#calls.get(intent.callId);
    const mayBegin = call?.phase === "waiting" || call?.phase === "queued";
    if (!mayBegin || call.intent.tenant !== intent.tenant) return { kind: "not_waiting" };
    const key = intent.idempotencyKey ?? call.intent.idempotencyKey;
    const holder = key === undefined ? undefined : this.byKey(intent.tenant, intent.agent, key);
    if (holder === undefined || holder.callId === intent.callId) return undefined;
    return { kind: "idempotency", existing: holder };
  }

  checkClose(closing: CallClosing): Conflict | undefined {
    const phase = this.#calls.get(closing.callId)?.phase;
    const isOpen = phase !== undefined && phase !== "closed";
    const mayBecome = closing.phase === "closed" ? isOpen : phase === "executing";
    const isAsExpected = closing.from === undefined || closing.from === phase;
    return mayBecome && isAsExpected ? undefined : { kind: "not_open" };
  }

  open(call: PreparedCall, link: AuditLink | undefined): void {
    this.#last += 1;
    this.#put({ ...call, position: this.#last, ...(link && { link }) });
    if (call.phase === "closed") this.#remember(call.intent.callId);
  }

  /** What the intent says replaces what was kept, but for its place in the journal and what `keepingOf` names. */
  begin({ intent, phase }: PreparedCall, link: AuditLink | undefined): void {
    const before = this.#calls.get(intent.callId);
    if (before === undefined) return;
    if (before.intent.idempotencyKey !== undefined) this.#byKey.delete(keyOf(before.intent));
    const { position } = before;
    const last = link ?? before.link;
    this.#put({ intent: keepingOf(before.intent, intent), phase, position, ...(last && { link: last }) });
  }

  close(change: PreparedClosing, link: AuditLink | undefined): void {
    const call = this.#calls.get(change.callId);
    if (call === undefined) return;
    call.phase = change.phase;
    if (change.closing) call.closing = change.closing;
    if (link) call.link = link;
    if (change.phase === "closed") this.#remember(change.callId);
  }

  get(callId: string): CallRecord | undefined {
    const call = this.#calls.get(callId);
    return call && recordOf(call);
  }

  /** Where the call stands in the order calls entered; undefined when it is not in the journal. */
  positionOf(callId: string): number | undefined {
    return this.#calls.get(callId)?.position;
  }

  byKey(tenant: string, agent: string, idempotencyKey: string): CallRecord | undefined {
    const callId = this.#byKey.get(keyOf({ tenant, agent, idempotencyKey }));
    return callId === undefined ? undefined : this.get(callId);
  }

  /** Newest first in the order calls entered the journal; nothing when `before` is not in it. */
  list(filter: CallFilter): CallRecord[] {
    const newestFirst = [...this.#calls.values()].reverse();
    const from = filter.before === undefined ? 0 : newestFirst.findIndex(isCall(filter.before)) + 1;
    if (filter.before !== undefined && from === 0) return [];
    return newestFirst.slice(from).filter(matches(filter)).slice(0, filter.limit).map(recordOf);
  }

  #put(call: KeptCall): void {
    const { callId, idempotencyKey } = call.intent;
    this.#calls.set(callId, call);
    if (idempotencyKey !== undefined) this.#byKey.set(keyOf(call.intent), callId);
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
    if (call?.intent.idempotencyKey !== undefined) this.#byKey.delete(keyOf(call.intent));
    this.#options.forgotten(callId);
  }
}

/** Throws when the answer is not JSON; nothing has been written then. */
export function prepareCall({ phase, closing, ...intent }: CallRecord): PreparedCall {
  return { intent, phase, ...(closing && { closing: keep(closing) }) };
}

/** As `prepareCall`, for the end of a call. */
export function prepareClosing({ closing, ...change }: CallClosing): PreparedClosing {
  return { ...change, ...(closing && { closing: keep(closing) }) };
}

function isCall(callId: string): (call: KeptCall) => boolean {
  return (call) => call.intent.callId === callId;
}

function matches(filter: CallFilter): (call: KeptCall) => boolean {
  return ({ intent, phase, closing }) =>
    (filter.tenant === undefined || intent.tenant === filter.tenant) &&
    (filter.agent === undefined || intent.agent === filter.agent) &&
    (filter.tool === undefined || intent.tool === filter.tool) &&
    (filter.phase === undefined || phase === filter.phase) &&
    (filter.status === undefined || closing?.status === filter.status);
}

function keyOf(call: Pick<CallIntent, "tenant" | "agent" | "idempotencyKey">): string {
  return JSON.stringify([call.tenant, call.agent, call.idempotencyKey]);
}

/** The intent, with the key, the digest and the callback of the call it begins where it does not bring its own. */
function keepingOf(before: CallIntent, intent: CallIntent): CallIntent {
  const idempotencyKey = intent.idempotencyKey ?? before.idempotencyKey;
  const requestDigest = intent.requestDigest ?? before.requestDigest;
  const callbackUrl = intent.callbackUrl ?? before.callbackUrl;
  return {
    ...intent,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(requestDigest !== undefined && { requestDigest }),
    ...(callbackUrl !== undefined && { callbackUrl }),
  };
}

function keep({ answer, ...rest }: ClosedWith): KeptClosing {
  return { ...rest, answerText: JSON.stringify(answer) };
}

function recordOf(call: KeptCall): CallRecord {
  return {
    ...call.intent,
    phase: call.phase,
    ...(call.closing && { closing: closingOf(call, call.closing) }),
  };
}

function closingOf({ intent, link }: KeptCall, { answerText, ...rest }: KeptClosing): ClosedWith {
  const answer: CallAnswer = JSON.parse(answerText);
  const { tenant, inputHash } = intent;
  const output = rest.outputHash === undefined ? {} : { outputHash: rest.outputHash };
  if (link) answer.receipt = { tenant, sequence: link.sequence, hash: link.hash, inputHash, ...output };
  return { ...rest, answer };
}
