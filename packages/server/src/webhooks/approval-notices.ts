import type { WebhookSender } from "@sallyport/adapters/webhook";
import type { ApprovalPass, Bus, Clock, Random } from "@sallyport/engine";
import { NOTICE_WAITS_MS } from "./backoff.ts";
import { isWebChannel } from "./notice.ts";
import { NoticeBox, type WaitingNotice } from "./notice-box.ts";
import { type Approvals, OpenQuestions } from "./open-questions.ts";
import { Rounds } from "./rounds.ts";
import { Watch } from "./watch.ts";
import type { WebhookLog } from "./webhook-log.ts";

export interface ApprovalNoticeOptions {
  approvals: Approvals;
  bus: Bus;
  sender: Pick<WebhookSender, "send">;
  clock: Clock;
  log: WebhookLog;
  /** Where people reach this house, for the links. */
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
}

/** Tells the people of each level when their turn has come. */
export interface ApprovalNotices {
  /** Notices not delivered by then are told again by the next process, as long as their approval is open. */
  close(): Promise<void>;
}

const DEFAULTS = { concurrent: 4, perHost: 2, pollMs: 60_000, graceMs: 2_000 };
const DEFAULT_ATTEMPTS = 6;

/**
 * Posts a signed notice to every http(s) channel of a level when an approval reaches that level. At least once: what was
 * told is remembered in memory only, and the id of a notice stays the same, so that receivers can drop what they have.
 */
export function openApprovalNotices(options: ApprovalNoticeOptions): ApprovalNotices {
  const { bus, clock, log, random = Math.random, waitsMs = NOTICE_WAITS_MS } = options;
  const attempts = options.attempts ?? DEFAULT_ATTEMPTS;
  const box = new NoticeBox({ ...options, style: options, attempts, backoff: { waitsMs, random } });
  const onTrouble = (error: unknown) => log.warn({ err: error }, "approvals cannot be read");
  const rounds = new Rounds<WaitingNotice>({
    ...DEFAULTS,
    ...options,
    nameOf: NoticeBox.nameOf,
    due: (by, limit) => box.due(by, limit),
    deliver: (notice, signal) => box.deliver(notice, signal),
    onTrouble,
  });
  const questions = new OpenQuestions({
    ...options,
    onLevel({ approvalId, levels }, level) {
      const channels = levels.find((each) => each.level === level)?.channels ?? [];
      for (const url of new Set(channels.filter(isWebChannel))) box.put({ approvalId, level, url });
      rounds.kick();
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
