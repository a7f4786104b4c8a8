import { entryOf, type Failure, type RetryPolicy } from "@sallyport/protocol";
import type { Random } from "../ports/platform.ts";

export interface RetryOptions {
  /** Retries after the first attempt, for tools that declare no policy of their own (R1-7.3). */
  maxRetries: number;
  baseDelayMs: number;
  maxDelayMs: number;
  /** Only errors of these codes or kinds; left out: all that may be tried again. */
  retryableErrors?: readonly string[];
}

export const DEFAULT_RETRY: RetryOptions = { maxRetries: 3, baseDelayMs: 100, maxDelayMs: 5_000 };

const RETRIED_CLASSES = new Set(["ResourceError", "TimeoutError"]);

interface Ended {
  error: Failure;
  idempotent: boolean;
  /** Attempts made so far. */
  attempts: number;
}

/** Whether the runtime may try again by itself (D-3): an idempotent tool, on a resource or time failure, within bounds. */
export function mayRetry({ error, idempotent, attempts }: Ended, policy: RetryOptions): boolean {
  if (!idempotent || !error.retryable) return false;
  const { failureClass, kind } = entryOf(error);
  const isNamed = policy.retryableErrors?.some((name) => name === error.code || name === kind) ?? true;
  return RETRIED_CLASSES.has(failureClass) && isNamed && attempts <= policy.maxRetries;
}

/** The tool's own policy where it has one. */
export function retryPolicy(declared: RetryPolicy | undefined, standard: RetryOptions): RetryOptions {
  if (!declared) return standard;
  const { maxAttempts, ...rest } = declared;
  return { maxRetries: Math.max(0, maxAttempts - 1), ...rest };
}

/** Exponential backoff with full jitter: anywhere between nothing and the doubled, capped delay. */
export function backoffMs(attempts: number, policy: RetryOptions, random: Random): number {
  return random() * Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempts - 1));
}
