import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { Failure } from "@sallyport/protocol";
import { modelFailure } from "./model-failure.ts";
import { ModelTrouble } from "./model-trouble.ts";

/** What a model sends, with one way to fail and one to be stopped. Either is the last part. */
export type ModelPart =
  | Exclude<LanguageModelV4StreamPart, { type: "error" }>
  | { type: "failed"; error: Failure }
  | { type: "aborted" };

/** One request. Ends with exactly one of `finish`, `failed` and `aborted`; never throws. Closes the connection when left. */
export async function* oneTry(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  signal: AbortSignal,
): AsyncGenerator<ModelPart, void, void> {
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined;
  try {
    signal.throwIfAborted();
    const { stream } = await until(signal, model.doStream({ ...options, abortSignal: signal }));
    reader = stream.getReader();
    yield* partsOf(reader, signal);
  } catch (error) {
    yield signal.aborted ? { type: "aborted" } : { type: "failed", error: modelFailure(error) };
  } finally {
    // Not waited for: a provider's code may wait for a server that says nothing.
    reader?.cancel().catch(() => undefined);
  }
}

async function* partsOf(reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>, signal: AbortSignal) {
  for (;;) {
    const { done, value } = await until(signal, reader.read());
    if (done || isBrokenOff(value)) throw new ModelTrouble("cut", "the answer broke off before its end");
    if (value.type === "error") throw value.error;
    yield value;
    if (value.type === "finish") return;
  }
}

/** How the SDK tells of a stream that ended without the provider's word for it. */
function isBrokenOff(part: LanguageModelV4StreamPart): boolean {
  if (part.type !== "finish") return false;
  const { unified } = part.finishReason;
  return unified === "interrupted" || unified === "error";
}

/** Waits no longer than the signal allows, even for code that does not look at it. */
async function until<T>(signal: AbortSignal, work: PromiseLike<T>): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  // One that is aborted already tells nobody.
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
