import type { Delivery, WebhookSender } from "@sallyport/adapters/webhook";
import type { ApprovalRecord, Clock } from "@sallyport/engine/ports";
import { type Backoff, waitAfter } from "./backoff.ts";
import { type Notice, type NoticeStyle, noticeBody, noticeId } from "./notice.ts";
import type { Due } from "./rounds.ts";
import { hostOf, type WebhookLog } from "./webhook-log.ts";

/** A notice that has not been delivered yet. */
export interface WaitingNotice extends Notice, Due {
  tries: number;
}

export interface NoticeBoxOptions {
  approvals: { get(approvalId: string): Promise<ApprovalRecord | undefined> };
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

/** More than this do not wait here at a time; the others come when there is room. */
const MOST_WAITING = 1_000;

/** Notices on their way, in memory: a restart begins with those of the approvals that are still open. */
export class NoticeBox {
  readonly #options: NoticeBoxOptions;
  readonly #waiting = new Map<string, WaitingNotice>();

  constructor(options: NoticeBoxOptions) {
    this.#options = options;
  }

  static nameOf({ approvalId, level, url }: Notice): string {
    return JSON.stringify([approvalId, level, url]);
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
      this.#waiting.set(NoticeBox.nameOf(notice), { ...notice, tries: 0, dueAt: clock.now() });
    }
    return true;
  }

  async due(by: number, limit: number): Promise<WaitingNotice[]> {
    const due = [...this.#waiting.values()].filter(({ dueAt }) => dueAt <= by);
    return due.sort((one, other) => one.dueAt - other.dueAt).slice(0, limit);
  }

  /** One try, as long as the question is open. */
  async deliver(notice: WaitingNotice, signal: AbortSignal): Promise<void> {
    const record = await this.#read(notice);
    if (record === "unreadable") return this.#later(notice, "the approval cannot be read");
    if (record?.standing.state !== "pending") return this.#forget(notice);
    this.#settle(notice, await this.#send(record, notice, signal));
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

  #settle(notice: WaitingNotice, delivery: Delivery): void {
    if (delivery.ok) {
      this.#forget(notice);
      this.#options.log.info(factsOf(notice), "approvers were told");
    } else if (delivery.retryable && notice.tries + 1 < this.#options.attempts)
      this.#later(notice, delivery.problem, delivery.retryAfterMs);
    else {
      this.#forget(notice);
      this.#options.log.warn(factsOf(notice, delivery.problem), "approvers could not be told");
    }
  }

  #later(notice: WaitingNotice, problem: string, retryAfterMs?: number): void {
    const { clock, backoff, log } = this.#options;
    const tries = notice.tries + 1;
    const dueAt = clock.now() + waitAfter(tries, backoff, retryAfterMs);
    this.#waiting.set(NoticeBox.nameOf(notice), { ...notice, tries, dueAt });
    log.info(factsOf(notice, problem), "approvers are told again later");
  }

  #forget(notice: Notice): void {
    this.#waiting.delete(NoticeBox.nameOf(notice));
  }
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
