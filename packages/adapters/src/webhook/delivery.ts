import type { Denial } from "../egress/denial.ts";
import type { Reply } from "./post.ts";
import { readRetryAfter } from "./retry-after.ts";
import type { WebhookTarget } from "./webhook-url.ts";

/** How one try went. `problem` is a sentence that names no more of the URL than its host, and never a secret. */
export type Delivery =
  | { ok: true; status: number }
  | { ok: false; problem: string; retryable: boolean; status?: number; retryAfterMs?: number };

export type Answer = Extract<Reply, { kind: "answered" }>;

/** Answers that the same message would get again: gone, and too large. */
const LASTING = new Set([410, 413]);

/** What an answer means: every 2xx is a yes, everything else a no, and a redirect is never followed. */
export function judge({ status, retryAfter }: Answer, { to }: WebhookTarget, now: number): Delivery {
  if (status >= 200 && status < 300) return { ok: true, status };
  const moved = status >= 300 && status < 400;
  const retryAfterMs = readRetryAfter(retryAfter, now);
  return {
    ok: false,
    status,
    problem: `${to.name} answered ${status}${moved ? ", and redirects are not followed" : ""}.`,
    retryable: !moved && !LASTING.has(status),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** Not sent, and no later try would be. */
export function refused(problem: string): Delivery {
  return { ok: false, problem, retryable: false };
}

export function unanswered({ to }: WebhookTarget, why: string): Delivery {
  return { ok: false, problem: `${to.name} gave no answer (${why}).`, retryable: true };
}

/** Not connected. An address that may not be reached is not told: it is about the network here. */
export function unreached({ failure: { code, message } }: Denial, { to }: WebhookTarget): Delivery {
  if (code === "E3104") return refused(`${to.name} leads to an address that webhooks may not reach.`);
  return { ok: false, problem: message, retryable: true };
}
