import type { WebhookSender } from "@sallyport/adapters/webhook";
import { type ApprovalPass, timerMs } from "@sallyport/engine/host";
import type { Bus, Clock, Random } from "@sallyport/engine/ports";
import type { DocumentStore } from "../runtime/documents.ts";
import { NOTICE_WAITS_MS } from "./backoff.ts";
import { isWebChannel } from "./notice.ts";
import { NoticeBox, type WaitingNotice } from "./notice-box.ts";
import { NoticeClaims } from "./notice-claims.ts";
import { type Approvals, OpenQuestions } from "./open-questions.ts";
import { Rounds } from "./rounds.ts";
import type { WebhookLog } from "./webhook-log.ts";

interface WatchOptions {
  questions: OpenQuestions;
  clock: Clock;
  /** How often it looks at all. */
  pollMs: number;
  onTrouble(error: unknown): void;
}

/** After trouble with the store it does not look again at once. */
const REST_MS = 1_000;

/** One look after the other: at what the bus names, at what is due for its next level, and now and then at all. */
class Watch {
  readonly #options: WatchOptions;
  #looks: Promise<void> = Promise.resolve();
  #allAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#look(() => this.#onTime());
  }

  lookAt(approvalId: string): void {
    this.#look(() => this.#options.questions.lookAt(approvalId));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#looks;
  }

  #look(look: () => Promise<void>): void {
    this.#looks = this.#looks.then(async () => {
      if (this.#closed) return;
      try {
        await look();
        this.#wakeAfter(0);
      } catch (error) {
        this.#options.onTrouble(error);
        this.#wakeAfter(REST_MS);
      }
    });
  }

  async #onTime(): Promise<void> {
    const { questions, clock, pollMs } = this.#options;
    if (clock.now() < this.#allAt) return await questions.lookAtEnded();
    await questions.lookAtAll();
    this.#allAt = clock.now() + pollMs;
  }

  #wakeAfter(restMs: number): void {
    const { questions, clock, pollMs } = this.#options;
    clearTimeout(this.#timer);
    if (this.#closed) return;
    const at = Math.min(this.#allAt, questions.nextAt() ?? this.#allAt);
    const waitMs = Math.min(Math.max(at - clock.now(), restMs), Math.max(pollMs, restMs));
    this.#timer = setTimeout(() => this.#look(() => this.#onTime()), timerMs(waitMs)).unref();
  }
}

export interface ApprovalNoticeOptions {
  approvals: Approvals;
  /** Where processes agree who tells what. */
  store: DocumentStore;
  bus: Bus;
  sender: Pick<WebhookSender, "send">;
  clock: Clock;
  log: WebhookLog;
  /** Where people reach this server, for the links. */
  publicUrl: string;
  /** Signs the pass of one approver. Left out: notices carry links only. */
  mint?: (pass: ApprovalPass) => string;
  /** Tries before a notice is given up. */
  attempts?: number;
  waitsMs?: readonly number[];
  random?: Random;
  /** Notices at once, in all and to one host. */
  concurrent?: number;
  perHost?: number;
  /** How often all open approvals are looked through, for what the bus did not tell. */
  pollMs?: number;
  graceMs?: number;
  /** Notices that may wait at a time; the others are told at a later look. */
  most?: number;
}

/** Tells the people of each level when their turn has come. */
export interface ApprovalNotices {
  /** Notices not delivered by then are told again by the next process, as long as their approval is open. */
  close(): Promise<void>;
}

const DEFAULTS = { concurrent: 4, perHost: 2, pollMs: 60_000, graceMs: 2_000 };
const DEFAULT_ATTEMPTS = 6;

/**
 * Posts a signed notice to every http(s) channel of a level when an approval reaches that level. One process on the store
 * does. At least once: one that dies between the answer and its record leaves the notice to be told again, under the same
 * id, so that receivers can drop what they have.
 */
export function openApprovalNotices(options: ApprovalNoticeOptions): ApprovalNotices {
  const { bus, clock, log, random = Math.random, waitsMs = NOTICE_WAITS_MS } = options;
  const attempts = options.attempts ?? DEFAULT_ATTEMPTS;
  const claims = new NoticeClaims(options.store, clock);
  const box = new NoticeBox({ ...options, claims, style: options, attempts, backoff: { waitsMs, random } });
  const onTrouble = (error: unknown) => log.warn({ err: error }, "approvals cannot be read");
  const rounds = new Rounds<WaitingNotice>({
    ...DEFAULTS,
    ...options,
    take: async (full) => box.take(full),
    nextAt: () => box.nextAt(),
    deliver: (notice, signal) => box.deliver(notice, signal),
    onTrouble,
  });
  const questions = new OpenQuestions({
    ...options,
    onLevel({ approvalId, levels }, level) {
      const channels = levels.find((each) => each.level === level)?.channels ?? [];
      const urls = [...new Set(channels.filter(isWebChannel))];
      const isTaken = box.put(urls.map((url) => ({ approvalId, level, url })));
      rounds.kick();
      return isTaken;
    },
  });
  const watch = new Watch({ questions, clock, pollMs: options.pollMs ?? DEFAULTS.pollMs, onTrouble });
  const unsubscribe = bus.subscribe("approvals:updates", ({ approvalId }) => {
    if (typeof approvalId === "string") watch.lookAt(approvalId);
  });
  return {
    async close() {
      unsubscribe();
      await watch.close();
      await rounds.close();
    },
  };
}
