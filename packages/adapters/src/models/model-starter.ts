import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import type { ModelPart } from "./one-try.ts";
import { type StreamPatience, startStream } from "./start-stream.ts";

/** Asks a model; a failure when it could not even begin to answer. */
export type ModelStarter = (
  options: LanguageModelV4CallOptions,
) => Promise<AsyncIterable<LanguageModelV4StreamPart> | Failure>;

/**
 * A model in the form the tool loop starts it. The parts hold no `error`: what breaks in the middle is thrown as a
 * SallyportError with E3959. Stopped by the signal of the options, it just ends.
 */
export function modelStarter(
  model: LanguageModelV4,
  patience: Pick<StreamPatience, "wait" | "retrying"> = {},
): ModelStarter {
  return async (options) => {
    const signal = options.abortSignal ?? new AbortController().signal;
    const parts = startStream(model, options, { ...patience, signal });
    const first = await parts.next();
    if (first.done || first.value.type === "aborted") return stopped();
    return first.value.type === "failed" ? first.value.error : spoken(first.value, parts);
  };
}

async function* spoken(
  first: ModelPart,
  rest: AsyncGenerator<ModelPart, void, void>,
): AsyncGenerator<LanguageModelV4StreamPart, void, void> {
  try {
    for (let part: ModelPart | undefined = first; part; part = (await rest.next()).value ?? undefined) {
      if (part.type === "aborted") return;
      if (part.type === "failed") throw new SallyportError(part.error);
      yield part;
    }
  } finally {
    await rest.return();
  }
}

function stopped(): Failure {
  return failure("E3959", {
    message: "The model was stopped before it answered.",
    details: { kind: "aborted" },
  });
}
