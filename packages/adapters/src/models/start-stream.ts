import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Failure } from "@sallyport/protocol";
import { type ModelPart, oneTry } from "./one-try.ts";

const MOST_RETRIES = 2;
const LONGEST_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 500;
const GROWTH = 4;

/** How failed tries are repeated, and stopped. */
export interface StreamRetries {
  /** Stops everything, waits included. */
  signal: AbortSignal;
  /** Waits between tries; rejects or resolves when the signal aborts. The system's timer unless given. */
  wait?(ms: number, signal: AbortSignal): Promise<void>;
  /** Told before each wait, for whoever watches. */
  retrying?(error: Failure, waitMs: number): void;
}

/**
 * Asks a model and gives its parts as they come. Ends with exactly one of `finish`, `failed` and `aborted`; never
 * throws. What fails before anything was said is tried up to twice more where that may help; once a part was given
 * out nothing is asked again.
 */
export async function* startStream(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  how: StreamRetries,
): AsyncGenerator<ModelPart, void, void> {
  for (let retries = 0; ; retries += 1) {
    const waitMs = yield* firstUnless(oneTry(model, options, how.signal), (error) => {
      const wait = retries < MOST_RETRIES ? waitBefore(retries, error) : undefined;
      if (wait !== undefined) how.retrying?.(error, wait);
      return wait;
    });
    if (waitMs === undefined) return;
    if (!(await waited(waitMs, how))) return yield { type: "aborted" };
  }
}

/** Gives out a try's parts, unless it fails before it said anything and `again` names a wait: then that. */
async function* firstUnless(
  parts: AsyncIterable<ModelPart>,
  again: (error: Failure) => number | undefined,
): AsyncGenerator<ModelPart, number | undefined, void> {
  let held: ModelPart[] | undefined = [];
  for await (const part of parts) {
    if (held && isOverhead(part)) {
      held.push(part);
      continue;
    }
    const waitMs = held && part.type === "failed" ? again(part.error) : undefined;
    if (waitMs !== undefined) return waitMs;
    yield* held ?? [];
    held = undefined;
    yield part;
  }
  return undefined;
}

const OVERHEAD: ReadonlySet<ModelPart["type"]> = new Set([
  "stream-start",
  "response-metadata",
  "custom",
  "ping",
  "text-start",
  "reasoning-start",
]);

/** Parts that come with an answer whether or not the model says anything. */
function isOverhead(part: ModelPart): boolean {
  return OVERHEAD.has(part.type) || (part.type === "text-delta" && part.delta === "");
}

/** Undefined: not again. A time-out was long enough once; a provider that asks for a longer wait than ours is not asked again. */
function waitBefore(retries: number, { retryable, details }: Failure): number | undefined {
  if (!retryable || details?.kind === "timeout") return undefined;
  const asked = details?.retryAfterMs;
  const waitMs = typeof asked === "number" ? asked : FIRST_WAIT_MS * GROWTH ** retries;
  return waitMs <= LONGEST_WAIT_MS ? waitMs : undefined;
}

/** False: it was stopped. */
async function waited(ms: number, { signal, wait = systemWait }: StreamRetries): Promise<boolean> {
  await wait(ms, signal).catch(() => undefined);
  return !signal.aborted;
}

const systemWait = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal });
