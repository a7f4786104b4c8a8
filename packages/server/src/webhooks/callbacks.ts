import type { WebhookSender } from "@sallyport/adapters/webhook";
import type { Callback, Clock, Random, Store } from "@sallyport/engine/ports";
import { CALLBACK_WAITS_MS } from "./backoff.ts";
import { deliverCallback } from "./deliver-callback.ts";
import { Rounds } from "./rounds.ts";
import type { WebhookLog } from "./webhook-log.ts";

export interface CallbackOptions {
  store: Pick<Store, "commit" | "calls" | "work">;
  /** The name under which this process has its lease on the store. */
  instance: string;
  sender: Pick<WebhookSender, "send" | "timeoutMs">;
  clock: Clock;
  log: WebhookLog;
  /** Why nothing is sent to that URL any more: what was accepted earlier may not be wanted now. */
  refuse?: (url: string) => string | undefined;
  /** Tries before it is given up. */
  attempts?: number;
  /** Between the tries; the last one is repeated. */
  waitsMs?: readonly number[];
  random?: Random;
  /** Deliveries at once, in all and to one host. */
  concurrent?: number;
  perHost?: number;
  pollMs?: number;
  graceMs?: number;
}

/** Tells callers how their calls ended. */
export interface Callbacks {
  /** A callback may have become due. It would be found anyway, a little later. */
  kick(): void;
  /** Lets deliveries end within their grace. What is not delivered is in the store, for the next process. */
  close(): Promise<void>;
}

const DEFAULTS = { concurrent: 8, perHost: 2, pollMs: 5_000, graceMs: 5_000 };
const DEFAULT_ATTEMPTS = 8;
/** Beyond the sender's own limit: for reading the journal and writing the outcome. */
const HOLD_SLACK_MS = 30_000;

/** Begins to deliver, with what an earlier process has left. Any number of processes may do so over one store. */
export function openCallbacks(options: CallbackOptions): Callbacks {
  const { store, instance, sender, clock, log, random = Math.random, waitsMs = CALLBACK_WAITS_MS } = options;
  const attempts = options.attempts ?? DEFAULT_ATTEMPTS;
  const holdMs = sender.timeoutMs + HOLD_SLACK_MS;
  const context = { ...options, attempts, holdMs, backoff: { waitsMs, random } };
  const rounds = new Rounds<Callback>({
    ...DEFAULTS,
    ...options,
    clock,
    take: async (except) =>
      (await store.work.claim({ kind: "callback", instance, limit: 1, holdMs, except }))[0],
    deliver: (callback, signal) => deliverCallback(callback, context, signal),
    onTrouble: (error) => log.warn({ err: error }, "callbacks cannot be read or written"),
  });
  rounds.kick();
  return { kick: () => rounds.kick(), close: () => rounds.close() };
}
