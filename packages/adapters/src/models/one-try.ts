import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { Failure } from "@sallyport/protocol";
import { modelFailure } from "./model-failure.ts";
import { ModelTrouble } from "./model-trouble.ts";
import { WireIds } from "./wire-ids.ts";

type SentPart = Exclude<LanguageModelV4StreamPart, { type: "error" | "raw" }>;
type CallPart = Extract<SentPart, { type: "tool-input-start" | "tool-call" }>;

/** What a model sends, with one way to fail and one to be stopped. Either is the last part. */
export type ModelPart =
  | Exclude<SentPart, CallPart>
  /** `wireId`: what the model really called it, where that is not its `id`, which no other call of the answer has. */
  | (CallPart & { wireId?: string })
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
    const { stream } = await until(signal, askOf(model, options, signal));
    reader = stream.getReader();
    yield* partsOf(reader, signal);
  } catch (error) {
    yield signal.aborted ? { type: "aborted" } : { type: "failed", error: modelFailure(error) };
  } finally {
    // Not waited for: a provider's code may wait for a server that says nothing.
    reader?.cancel().catch(() => undefined);
  }
}

/** What comes over the wire is asked for too: it alone says what calls are really called. */
function askOf(model: LanguageModelV4, options: LanguageModelV4CallOptions, abortSignal: AbortSignal) {
  return model.doStream({ ...options, abortSignal, includeRawChunks: true });
}

async function* partsOf(
  reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
  signal: AbortSignal,
): AsyncGenerator<ModelPart, void, void> {
  const wireIds = new WireIds();
  for (;;) {
    const { done, value } = await until(signal, reader.read());
    if (done || isBrokenOff(value)) throw new ModelTrouble("cut", "the answer broke off before its end");
    if (value.type === "error") throw value.error;
    if (value.type === "raw") wireIds.note(value.rawValue);
    else yield named(value, wireIds);
    if (value.type === "finish") return;
  }
}

function named(part: SentPart, wireIds: WireIds): ModelPart {
  if (part.type === "tool-input-start") wireIds.begin(part);
  else if (part.type !== "tool-call") return part;
  const wireId = wireIds.of(part.type === "tool-call" ? part.toolCallId : part.id);
  return wireId === undefined ? part : { ...part, wireId };
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
