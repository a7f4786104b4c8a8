import type { Delivery, WebhookSender } from "@sallyport/adapters/webhook";
import type { ApprovalRecord, Clock } from "@sallyport/engine/ports";
import { type Backoff, waitAfter } from "./backoff.ts";
import { type Notice, type NoticeStyle, noticeBody, noticeId } from "./notice.ts";
import type { NoticeClaims } from "./notice-claims.ts";
import { hostOf, type WebhookLog } from "./webhook-log.ts";

/** A notice that has not been delivered yet. */
export interface WaitingNotice extends Notice {
  /** Infinity while it is being told. */
  dueAt: number;
}

export interface NoticeBoxOptions {
  approvals: { get(approvalId: string): Promise<ApprovalRecord | undefined> };
  /** Agrees with the other processes on the store who tells what. */
  claims: NoticeClaims;
  sender: Pick<WebhookSender, "send">;
  style: NoticeStyle;
  clock: Clock;
  log: WebhookLog;
  /** Tries before it is given up. */
  attempts: number;
  backoff: Backoff;
  /** Notices that may wait at a time. */
  most?: number;
}

/** One try, and how it went. */
interface Tried {
  delivery: Delivery;
  tries: number;
  expiresAt: number;
}

/** After so long an approval that could not be read is looked at again. */
const UNREADABLE_MS = 1_000;

/** More than this do not wait here at a time; the others come when there is room. */
const MOST_WAITING = 1_000;

/**
 * Notices on their way. Every process has those of all open approvals; the store says whose turn it is and what was told,
 * so that a restart tells nothing twice.
 */
export class NoticeBox {
  readonly #options: NoticeBoxOptions;
  readonly #waiting = new Map<string, WaitingNotice>();

  constructor(options: NoticeBoxOptions) {
    this.#options = options;
  }

  /** Takes the notices of one level, all or none. False: too many wait, and they have to be given again later. */
  put(notices: readonly Notice[]): boolean {
    const { clock, log, most = MOST_WAITING } = this.#options;
    // A level with more channels than ever fit waits until it is alone.
    if (this.#waiting.size > 0 && this.#waiting.size + notices.length > most) {
      const [first] = notices;
      if (first) log.warn(factsOf(first), "too many notices are waiting; these are told later");
      return false;
    }
    for (const notice of notices) {
      this.#waiting.set(nameOf(notice), { ...notice, dueAt: clock.now() });
    }
    return true;
  }

  /** Takes what is due and the longest overdue, unless its URL begins with one of these. */
  take(full: readonly string[]): WaitingNotice | undefined {
    const now = this.#options.clock.now();
    const due = [...this.#waiting.values()].filter(({ dueAt }) => dueAt <= now);
    const [first] = due
      .filter(({ url }) => !full.some((origin) => URL.parse(url)?.href.startsWith(origin)))
      .sort((one, other) => one.dueAt - other.dueAt);
    if (first) this.#wait(first, Infinity);
    return first;
  }

  /** When the next one is due. */
  nextAt(): number {
    return Math.min(...[...this.#waiting.values()].map(({ dueAt }) => dueAt));
  }

  /** One try, as long as the question is open. Rejects when the store is lost. */
  async deliver(notice: WaitingNotice, signal: AbortSignal): Promise<void> {
    try {
      await this.#tell(notice, signal);
    } catch (error) {
      this.#wait(notice, this.#options.clock.now());
      throw error;
    }
  }

  async #tell(notice: WaitingNotice, signal: AbortSignal): Promise<void> {
    const record = await this.#read(notice);
    if (record === "unreadable") return this.#wait(notice, this.#options.clock.now() + UNREADABLE_MS);
    if (record?.standing.state !== "pending") return this.#forget(notice);
    const { expiresAt } = record;
    const turn = await this.#options.claims.take(noticeId(notice), expiresAt);
    if (turn.kind === "over") return this.#forget(notice);
    if (turn.kind === "later") return this.#wait(notice, turn.at);
    const delivery = await this.#send(record, notice, signal);
    await this.#settle(notice, { delivery, tries: turn.tries, expiresAt });
  }

  async #read({ approvalId }: Notice): Promise<ApprovalRecord | undefined | "unreadable"> {
    try {
      return await this.#options.approvals.get(approvalId);
    } catch {
      return "unreadable";
    }
  }

  async #send(record: ApprovalRecord, notice: WaitingNotice, signal: AbortSignal): Promise<Delivery> {
    const { sender, style } = this.#options;
    const { url } = notice;
    const body = bodyOf(record, notice, style);
    if (body === undefined)
      return { ok: false, problem: "The notice could not be written.", retryable: true };
    return await sender.send({ id: noticeId(notice), url, body, signal });
  }

  async #settle(notice: WaitingNotice, { delivery, tries, expiresAt }: Tried): Promise<void> {
    const { claims, clock, backoff, log, attempts } = this.#options;
    if (!delivery.ok && delivery.retryable && tries < attempts) {
      const at = clock.now() + waitAfter(tries, backoff, delivery.retryAfterMs);
      this.#wait(notice, at);
      log.info(factsOf(notice, delivery.problem), "approvers are told again later");
      await claims.retryAt(noticeId(notice), { tries, at, expiresAt });
      return;
    }
    await claims.end(noticeId(notice), expiresAt);
    this.#forget(notice);
    if (delivery.ok) log.info(factsOf(notice), "approvers were told");
    else log.warn(factsOf(notice, delivery.problem), "approvers could not be told");
  }

  #wait(notice: Notice, dueAt: number): void {
    this.#waiting.set(nameOf(notice), { ...notice, dueAt });
  }

  #forget(notice: Notice): void {
    this.#waiting.delete(nameOf(notice));
  }
}

function nameOf({ approvalId, level, url }: Notice): string {
  return JSON.stringify([approvalId, level, url]);
}

/** Undefined when a pass cannot be signed; what the key says about that stays out of the log. */
function bodyOf(record: ApprovalRecord, notice: Notice, style: NoticeStyle): string | undefined {
  try {
    return noticeBody(record, notice, style);
  } catch {
    return undefined;
  }
}

function factsOf({ approvalId, level, url }: Notice, problem?: string): object {
  return { approvalId, level, host: hostOf(url), ...(problem !== undefined && { problem }) };
}
